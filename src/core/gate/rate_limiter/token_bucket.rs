//! A bucket of permits that refills steadily.
//!
//! The generic cell rate algorithm (ITU-T Recommendation I.371, annex A, "virtual scheduling"): instead of a
//! level and the time of its last change, a key is one number, the theoretical arrival time, at which its
//! bucket will be full again. A permit moves it by the time that the refill of one takes, and is due if it then
//! is no further ahead than the refill of the whole bucket takes.
//!
//! That of one permit is `window / permits`, seldom a whole number of nanoseconds. So all times here are in
//! units of `1 / permits` nanoseconds, in which it is `window`, and nothing is ever rounded.

use super::schedule::Schedule;

/// The rule. Within any time `t` no more than `burst + floor(t * permits / window)` permits pass.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    permits: u128,
    /// The time that the refill of one permit takes, in units.
    interval: u128,
    /// The time that the refill of the whole bucket takes, in units.
    capacity: u128,
}

impl TokenBucket {
    /// `permits` in each `window` and room for `burst`, none of them zero.
    pub fn new(permits: u32, window: u64, burst: u32) -> Self {
        let interval = u128::from(window);
        Self { permits: u128::from(permits), interval, capacity: interval * u128::from(burst) }
    }

    fn to_units(self, at: u64) -> u128 {
        u128::from(at) * self.permits
    }

    /// The first nanosecond that begins at or after `units`.
    fn to_nanos(self, units: u128) -> u64 {
        u64::try_from(units.div_ceil(self.permits)).unwrap_or(u64::MAX)
    }

    /// When the bucket will be full: not in the past, nor later than from an empty one.
    fn full_at(self, state: u128, now: u64) -> u128 {
        let now = self.to_units(now);
        state.clamp(now, now + self.capacity)
    }
}

impl Schedule for TokenBucket {
    type State = u128;

    fn take(&self, state: &mut u128, now: u64) -> bool {
        let full_at = self.full_at(*state, now);
        let next = full_at + self.interval;
        let due = next <= self.to_units(now) + self.capacity;
        *state = if due { next } else { full_at };
        due
    }

    fn due(&self, state: &u128, now: u64) -> u64 {
        let next = self.full_at(*state, now) + self.interval;
        self.to_nanos(next.saturating_sub(self.capacity)).max(now)
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most the burst")]
    fn available(&self, state: &u128, now: u64) -> u32 {
        let room = self.to_units(now) + self.capacity - self.full_at(*state, now);
        (room / self.interval) as u32
    }

    fn reset_at(&self, state: &u128, now: u64) -> u64 {
        self.to_nanos(self.full_at(*state, now))
    }

    fn is_idle(&self, state: &u128, now: u64) -> bool {
        *state <= self.to_units(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    /// Takes all permits that are due.
    fn drain(rule: TokenBucket, state: &mut u128, now: u64) -> u32 {
        let mut taken = 0;
        while rule.take(state, now) {
            taken += 1;
        }
        taken
    }

    #[test]
    fn emptied_at_once_it_is_full_after_exactly_one_window() {
        for window in [1, 10, 1_000_000_007, 40 * DAY] {
            let (rule, mut state) = (TokenBucket::new(7, window, 7), 0);
            assert_eq!(drain(rule, &mut state, 5), 7);
            assert_eq!(rule.reset_at(&state, 5), 5 + window);
            assert!(rule.is_idle(&state, 5 + window) && !rule.is_idle(&state, 4 + window));
            assert_eq!(rule.available(&state, 5 + window), 7);
        }
    }

    #[test]
    fn refills_without_a_rounding_error() {
        let (rule, mut state) = (TokenBucket::new(3, 10, 1), 0);
        let mut taken = Vec::new();
        for now in 0..=30 {
            if rule.take(&mut state, now) {
                taken.push(now);
            }
        }
        assert_eq!(taken, [0, 4, 8, 12, 16, 20, 24, 28]);

        let (rule, mut state) = (TokenBucket::new(3, 10, 2), 0);
        let taken: u32 = (0..=3_000_000).map(|now| drain(rule, &mut state, now)).sum();
        assert_eq!(taken, 2 + 3 * 300_000);
    }

    #[test]
    fn says_when_the_next_permit_is_due() {
        let (rule, mut state) = (TokenBucket::new(3, 10, 2), 0);
        drain(rule, &mut state, 100);
        assert_eq!((rule.due(&state, 100), rule.available(&state, 103)), (104, 0));
        assert_eq!((rule.due(&state, 104), rule.available(&state, 104)), (104, 1));
    }

    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_longer_than_a_full_refill() {
        let (rule, mut state) = (TokenBucket::new(2, 10, 4), 0);
        drain(rule, &mut state, 1000);
        assert_eq!((rule.due(&state, 3), rule.reset_at(&state, 3)), (8, 23));
        assert!(!rule.take(&mut state, 3));
        assert_eq!(rule.available(&state, 23), 4);
    }

    #[test]
    fn counts_a_burst_whose_refill_takes_longer_than_time_lasts() {
        let (rule, mut state) = (TokenBucket::new(1, DAY, u32::MAX), 0);
        assert_eq!(rule.available(&state, 0), u32::MAX);
        for _ in 0..300_000 {
            assert!(rule.take(&mut state, 0));
        }
        assert_eq!(rule.available(&state, 0), u32::MAX - 300_000);
        assert_eq!(rule.reset_at(&state, 0), u64::MAX);

        let (rule, mut state) = (TokenBucket::new(u32::MAX, u64::MAX, u32::MAX), 0);
        assert!(rule.take(&mut state, u64::MAX));
        assert_eq!(rule.available(&state, u64::MAX), u32::MAX - 1);
    }
}
