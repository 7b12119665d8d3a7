//! Moments that limiters have in common, without a word between them.
//!
//! Several limiters of one dependency cannot measure its base one by one: while one drains, the queues of the
//! others are still there. Each would take these for the base, aim higher, and make the queue longer for all.
//! So they drain at the same time: at multiples of a period on a clock that they share, such as the time of day.

/// The shortest probe in common.
const SHORTEST_MS: f64 = 512.0;
/// Flights that fit one.
const FLIGHTS: f64 = 6.0;
/// Of these lengths, one is a probe.
const PERIOD: f64 = 128.0;
/// The first comes soon: the base of a new limiter is a guess.
const FIRST_PERIOD: f64 = 2.0;

/// A clock shared with other limiters.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// What it reads at the time zero of this limiter.
    pub offset: f64,
}

impl Moments {
    /// How long a probe lasts. A power of two, so that the periods of limiters with unlike latencies are
    /// multiples of each other, and every other probe of the one is in time with the other's.
    pub fn length(mean: f64) -> f64 {
        (FLIGHTS * mean).max(SHORTEST_MS).log2().ceil().exp2()
    }

    /// When the first probe begins.
    pub fn first(self, now: f64, mean: f64) -> f64 {
        self.multiple(now, FIRST_PERIOD * Self::length(mean))
    }

    /// When the next one begins.
    pub fn next(self, now: f64, mean: f64) -> f64 {
        self.multiple(now, PERIOD * Self::length(mean))
    }

    /// The next multiple of `period` on the shared clock.
    fn multiple(self, now: f64, period: f64) -> f64 {
        ((now + self.offset) / period).ceil() * period - self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments as the shared clock has them.
    fn shared(moments: Moments, at: f64) -> f64 {
        at + moments.offset
    }

    #[test]
    fn limiters_that_began_at_unlike_times_probe_at_the_same_moment() {
        let (early, late) = (Moments { offset: 1e12 }, Moments { offset: 1e12 + 123_456.7 });
        let now = 1e12 + 200_000.0;
        let next = |moments: Moments| shared(moments, moments.next(now - moments.offset, 70.0));
        assert!((next(early) - next(late)).abs() < 1e-3);
        assert!(next(early) > now);
    }

    #[test]
    fn the_moments_of_a_slow_limiter_are_moments_of_a_fast_one() {
        let moments = Moments { offset: 0.0 };
        for now in [1.0, 1e5, 1e9] {
            let slow = moments.next(now, 900.0);
            let period = PERIOD * Moments::length(20.0);
            assert!((slow / period).fract().abs() < 1e-9);
        }
    }

    #[test]
    fn a_probe_is_long_enough_to_settle_and_to_measure() {
        for mean in [0.01, 1.0, 70.0, 1000.0, 60_000.0] {
            assert!(Moments::length(mean) >= 6.0 * mean);
        }
        assert!((Moments::length(1.0) - 512.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_new_limiter_does_not_wait_long_for_its_first() {
        let moments = Moments { offset: 0.0 };
        assert!(moments.first(1e6, 50.0) - 1e6 <= 1024.0);
        assert!(moments.next(1e6, 50.0) - 1e6 <= 65_536.0);
    }
}
