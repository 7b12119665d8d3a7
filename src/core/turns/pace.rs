//! What it takes of the loop to start one request more, everything included: the request itself, refusing others,
//! continuations, garbage collection, and time in which another process had the processor.

use super::SLICE_MS;

/// The weight of one start in the mean.
const WEIGHT: f64 = 1.0 / 64.0;
/// A sample counts at most so many times the mean, or a slice: one slow request, or a pause, is no change of pace.
const OUTLIER: f64 = 4.0;

/// So much of the loop's time tells enough, however few starts that are.
const ENOUGH_MS: f64 = 1000.0;

/// The loop's time for each start, in milliseconds; 0 before the first.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    mean_ms: f64,
    starts: f64,
    /// The time that it was learnt from, as long as that is short.
    learnt_ms: f64,
}

impl Pace {
    /// The mean.
    #[must_use]
    pub const fn get(&self) -> f64 {
        self.mean_ms
    }

    /// What to predict waits by: 0 as long as too little was seen. The first requests of a program load and compile
    /// what the others then have; they tell nothing of how long those will wait.
    #[must_use]
    pub fn predicted(&self) -> f64 {
        if self.is_new() && self.learnt_ms < ENOUGH_MS { 0.0 } else { self.mean_ms }
    }

    /// Whether so few starts were seen that those which waited for nobody tell something, too.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.starts < 1.0 / WEIGHT
    }

    /// So many starts took the loop this time. The first ones make a plain mean.
    pub fn learn(&mut self, took_ms: f64, starts: u32) {
        let starts = f64::from(starts);
        let each = (took_ms / starts).min(SLICE_MS.max(OUTLIER * self.mean_ms));
        self.learnt_ms = (self.learnt_ms + took_ms).min(ENOUGH_MS);
        self.starts = (self.starts + starts).min(1.0 / WEIGHT);
        self.mean_ms += (each - self.mean_ms) * (starts / self.starts).min(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_starts_make_a_plain_mean() {
        let mut pace = Pace::default();
        pace.learn(4.0, 1);
        pace.learn(2.0, 1);
        assert!((pace.get() - 3.0).abs() < 1e-9);
        pace.learn(6.2, 62);
        assert!(!pace.is_new());
        assert!((pace.get() - (6.0 + 6.2) / 64.0).abs() < 1e-9, "{}", pace.get());
    }

    #[test]
    fn a_first_request_that_loads_half_of_the_program_is_no_pace() {
        let mut pace = Pace::default();
        pace.learn(400.0, 1);
        assert!((pace.get() - SLICE_MS).abs() < 1e-9);
        assert!(pace.predicted() <= 0.0);
        (0..20).for_each(|_| pace.learn(2.0, 1));
        assert!(pace.get() < 2.2, "{}", pace.get());
    }

    #[test]
    fn slow_requests_are_known_after_a_few() {
        let mut pace = Pace::default();
        (0..10).for_each(|_| pace.learn(50.0, 1));
        assert!(pace.get() > 40.0, "{}", pace.get());
        assert!(pace.predicted() <= 0.0);
        (0..10).for_each(|_| pace.learn(50.0, 1));
        assert!((pace.predicted() - pace.get()).abs() < 1e-9);
    }

    #[test]
    fn a_pause_moves_it_by_three_in_sixty_four_at_most() {
        let mut pace = Pace::default();
        pace.learn(64.0 * 5.0, 64);
        pace.learn(300.0, 1);
        assert!((pace.get() - (5.0 + 15.0 / 64.0)).abs() < 1e-9);
    }
}
