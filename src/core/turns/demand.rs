//! How many requests come, by importance.

use crate::core::clock::Nanos;

/// How far back the rates look: exponentially, with this mean.
const TAU_MS: f64 = 1000.0;

/// How many levels of importance there are; 0 is the highest.
pub const LEVELS: usize = 8;

/// The requests offered a millisecond at each level.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    rates: [f64; LEVELS],
    total: f64,
    counted_at: Nanos,
}

impl Demand {
    /// Counts one request.
    pub fn count(&mut self, level: usize, now: Nanos) {
        let fade = self.fade(now);
        self.counted_at = now;
        for rate in &mut self.rates {
            *rate *= fade;
        }
        self.rates[level] += 1.0 / TAU_MS;
        self.total = self.total * fade + 1.0 / TAU_MS;
    }

    /// Of all levels, as of the last request.
    #[must_use]
    pub const fn total(&self) -> f64 {
        self.total
    }

    /// Of all levels, as of `now`.
    #[must_use]
    pub fn total_at(&self, now: Nanos) -> f64 {
        self.total * self.fade(now)
    }

    /// Of the levels that are more important than `level`.
    #[must_use]
    pub fn above(&self, level: usize) -> f64 {
        self.rates[..level].iter().sum()
    }

    fn fade(&self, now: Nanos) -> f64 {
        (-now.ms_since(self.counted_at) / TAU_MS).exp()
    }
}
