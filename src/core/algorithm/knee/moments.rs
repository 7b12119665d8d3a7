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
