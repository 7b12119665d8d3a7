//! What it takes of the loop to start one request more, everything included: the request itself, refusing others,
//! continuations, garbage collection, and time in which another process had the processor.

use super::SLICE_MS;

/// The weight of one start in the mean.
const WEIGHT: f64 = 1.0 / 64.0;
/// A sample counts at most so many times the mean, or a slice: one slow request, or a pause, is no change of pace.
const OUTLIER: f64 = 4.0;

/// The loop's time for each start, in milliseconds; 0 before the first.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    mean_ms: f64,
    starts: f64,
}

impl Pace {
    /// The mean.
    #[must_use]
    pub const fn get(&self) -> f64 {
        self.mean_ms
    }

    /// Whether so few starts were seen that those which waited for nobody tell something, too.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.starts < 1.0 / WEIGHT
    }

    /// So many starts took the loop this time. The first ones make a plain mean: what is compiled and loaded at the
    /// first request must not be its pace for long.
    pub fn learn(&mut self, took_ms: f64, starts: u32) {
        let starts = f64::from(starts);
        let mut each = took_ms / starts;
        if self.starts > 0.0 {
            each = each.min(SLICE_MS.max(OUTLIER * self.mean_ms));
        }
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
        pace.learn(8.0, 1);
        pace.learn(2.0, 1);
        assert!((pace.get() - 5.0).abs() < 1e-9);
        pace.learn(5.0, 62);
        assert!(!pace.is_new());
        assert!(pace.get() < 0.3, "{}", pace.get());
    }

    #[test]
    fn a_pause_moves_it_by_three_in_sixty_four_at_most() {
        let mut pace = Pace::default();
        pace.learn(64.0 * 5.0, 64);
        pace.learn(300.0, 1);
        assert!((pace.get() - (5.0 + 15.0 / 64.0)).abs() < 1e-9);
    }
}
