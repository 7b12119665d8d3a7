//! How many requests come, by importance.

use crate::core::clock::Nanos;

/// How far back the rates look: exponentially, with this mean.
const TAU_MS: f64 = 1000.0;
/// Of what comes together in so short a time, a load is told by no more than [`MOST`] times what can be served in it:
/// the rest is a burst.
const TOGETHER_MS: f64 = 50.0;
const MOST: f64 = 2.5;

/// How many levels of importance there are; 0 is the highest.
pub const LEVELS: usize = 8;

/// The requests offered a millisecond at each level.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    rates: [f64; LEVELS],
    total: f64,
    /// The total without the bursts.
    steady: f64,
    /// When those came that count as one burst, and how many of them the steady rate has.
    together: (Nanos, f64),
    counted_at: Nanos,
}

impl Demand {
    /// Counts one request. `each_ms` is the loop's time for one, 0 if that is not known.
    pub fn count(&mut self, level: usize, each_ms: f64, now: Nanos) {
        let fade = self.fade(now);
        let (since, counted) = self.together;
        let counted = if now.ms_since(since) < TOGETHER_MS { counted } else { 0.0 };
        let counts = counted * each_ms < MOST * TOGETHER_MS;
        let rise = if counts { 1.0 } else { 0.0 };
        self.together = (if counted > 0.0 { since } else { now }, counted + rise);
        self.steady = self.steady * fade + rise / TAU_MS;
        self.counted_at = now;
        for rate in &mut self.rates {
            *rate *= fade;
        }
        self.rates[level] += 1.0 / TAU_MS;
        self.total = self.total * fade + 1.0 / TAU_MS;
    }

    /// Of all levels, as of the last request, and without what came in bursts.
    #[must_use]
    pub const fn steady(&self) -> f64 {
        self.steady
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
