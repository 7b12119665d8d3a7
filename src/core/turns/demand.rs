//! How many requests come, by importance.

use crate::core::clock::Nanos;

/// How far back the rates look: exponentially, with this mean.
const TAU_MS: f64 = 1000.0;
/// Of what comes together in so short a time, a load is told by no more than [`MOST`] times what can be served in it:
/// the rest is a burst. What has come during a longer slice is read together, too.
const TOGETHER_MS: f64 = 20.0;
const MOST: f64 = 5.0;

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
    /// Counts one request. `each_ms` is the loop's time for one, 0 if that is not known, and `slice_ms` how long its
    /// last slice was.
    pub fn count(&mut self, level: usize, (each_ms, slice_ms): (f64, f64), now: Nanos) {
        let fade = self.fade(now);
        let together_ms = slice_ms.max(TOGETHER_MS);
        let (since, counted) = self.together;
        let counted = if now.ms_since(since) < together_ms { counted } else { 0.0 };
        let counts = counted * each_ms < MOST * together_ms;
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

#[cfg(test)]
mod tests {
    use super::*;

    const EACH_MS: f64 = 5.0;

    fn load(slice_ms: f64, come: &[(f64, u32)]) -> f64 {
        let mut demand = Demand::default();
        for (at_ms, number) in come {
            (0..*number).for_each(|_| demand.count(0, (EACH_MS, slice_ms), Nanos::from_ms(*at_ms)));
        }
        demand.steady() * EACH_MS
    }

    #[test]
    fn of_a_burst_a_tenth_of_a_second_counts() {
        assert!((load(0.0, &[(1.0, 60)]) - 0.1).abs() < 1e-9);
    }

    #[test]
    fn what_comes_one_after_the_other_counts_in_full() {
        let come: Vec<(f64, u32)> = (0..400).map(|index| (2.5 * f64::from(index), 1)).collect();
        let mean = 2.0 * (1.0 - (-1.0_f64).exp());
        assert!((load(0.0, &come) - mean).abs() < 0.01, "{}", load(0.0, &come));
    }

    #[test]
    fn what_has_come_during_a_long_slice_is_no_burst() {
        assert!((load(300.0, &[(1.0, 60)]) - 0.3).abs() < 1e-9);
    }
}
