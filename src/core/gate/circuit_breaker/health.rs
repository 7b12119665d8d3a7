//! How the calls of the last while went.

use std::collections::VecDeque;

use crate::core::clock::Nanos;

/// Into how many parts the sampling duration is divided.
const BUCKETS: f64 = 10.0;

/// What a breaker counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that ended.
    pub calls: u32,
    /// Those that failed.
    pub failures: u32,
    /// Those that took too long, failed or not.
    pub slow: u32,
}

impl Counts {
    const fn one(failed: bool, slow: bool) -> Self {
        Self { calls: 1, failures: failed as u32, slow: slow as u32 }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            failures: self.failures.saturating_add(other.failures),
            slow: self.slow.saturating_add(other.slow),
        }
    }

    /// The share of the calls that failed; zero of none.
    #[must_use]
    pub fn failure_rate(self) -> f64 {
        self.share(self.failures)
    }

    /// The share of the calls that took too long; zero of none.
    #[must_use]
    pub fn slow_rate(self) -> f64 {
        self.share(self.slow)
    }

    fn share(self, part: u32) -> f64 {
        f64::from(part) / f64::from(self.calls.max(1))
    }
}

/// The counts of the last `duration_ms`. A bucket begins with its first call, holds those of a tenth of the
/// duration, and leaves as a whole: a call counts for nine tenths of the duration at least, and never longer
/// than all of it.
#[derive(Debug)]
pub struct Health {
    duration: Nanos,
    width: Nanos,
    buckets: VecDeque<(Nanos, Counts)>,
    /// The sum of the buckets.
    total: Counts,
}

impl Health {
    /// No calls yet.
    #[must_use]
    pub const fn new(duration_ms: f64) -> Self {
        Self {
            duration: Nanos::from_ms(duration_ms),
            width: Nanos::from_ms(duration_ms / BUCKETS),
            buckets: VecDeque::new(),
            total: Counts { calls: 0, failures: 0, slow: 0 },
        }
    }

    /// Counts a call that ended at `now`, and gives the counts with it.
    pub fn record(&mut self, now: Nanos, failed: bool, slow: bool) -> Counts {
        if self.buckets.back().is_some_and(|(begin, _)| *begin > now) {
            self.pull_back(now);
        }
        while self.buckets.front().is_some_and(|(begin, _)| now.since(*begin) >= self.duration) {
            self.buckets.pop_front();
            self.total = sum(&self.buckets);
        }
        let call = Counts::one(failed, slow);
        match self.buckets.back_mut() {
            Some((begin, counts)) if now.since(*begin) < self.width => *counts = counts.plus(call),
            _ => self.buckets.push_back((now, call)),
        }
        self.total = self.total.plus(call);
        self.total
    }

    /// Makes one bucket of now of all that lie in the future: the clock went back, and nothing may count until
    /// it gets there again.
    #[cold]
    fn pull_back(&mut self, now: Nanos) {
        let past = self.buckets.partition_point(|(begin, _)| *begin <= now);
        let future = self.buckets.split_off(past);
        self.buckets.push_back((now, sum(&future)));
    }

    /// Forgets every call.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.total = Counts::default();
    }
}

fn sum(buckets: &VecDeque<(Nanos, Counts)>) -> Counts {
    buckets.iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(*counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_as_long_as_the_duration_when_it_begins_a_bucket() {
        let mut health = Health::new(1000.0);
        health.record(Nanos::from_ms(5.0), true, false);
        assert_eq!(health.record(Nanos::from_ms(1004.0), false, true), Counts { calls: 2, failures: 1, slow: 1 });
        assert_eq!(health.record(Nanos::from_ms(1005.0), false, false), Counts { calls: 2, failures: 0, slow: 1 });
    }

    #[test]
    fn a_call_never_counts_longer_than_the_duration() {
        let mut health = Health::new(1000.0);
        health.record(Nanos::from_ms(0.0), false, false);
        health.record(Nanos::from_ms(99.0), true, false);
        assert_eq!(health.record(Nanos::from_ms(999.0), false, false).calls, 3);
        assert_eq!(health.record(Nanos::from_ms(1000.0), false, false).calls, 2);
    }

    #[test]
    fn there_are_never_more_buckets_than_ten() {
        let mut health = Health::new(1000.0);
        for ms in 0..20_000 {
            health.record(Nanos::from_ms(f64::from(ms)), false, false);
            assert!(health.buckets.len() <= 10);
        }
    }

    #[test]
    fn a_clock_that_goes_back_keeps_the_counts_for_one_more_duration() {
        let mut health = Health::new(1000.0);
        for ms in [0.0, 5000.0, 5500.0] {
            health.record(Nanos::from_ms(ms), true, false);
        }
        assert_eq!(health.record(Nanos::from_ms(10.0), true, false).failures, 3);
        assert_eq!(health.record(Nanos::from_ms(1009.0), true, false).failures, 4);
        assert_eq!(health.record(Nanos::from_ms(1010.0), true, false).failures, 2);
    }
}
