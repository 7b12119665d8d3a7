//! An estimate of the dependency's own queue.
//!
//! After Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet" (1995). The
//! lowest latency seen is the one without a queue; with `limit` executions in flight at latency `rtt`,
//! `limit * (1 - min_rtt / rtt)` of them wait inside the dependency. The limit moves to keep that number
//! between `alpha` and `beta`, both scaled by `log10(limit)` as Netflix's concurrency-limits does.
//!
//! Instead of Vegas' steps of one a round trip, a sample moves the limit by the queue's error divided by the
//! limit: by the error in a round trip, so that the limit converges in a few of them.

use super::{LimitAlgorithm, Sample};

/// Thresholds are never below those of this limit: `log10` of a small one would leave no band at all.
const SMALLEST_SCALED_LIMIT: f64 = 10.0;

/// Keeps the estimated queue between `alpha * log10(limit)` and `beta * log10(limit)`.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Grow below this queue, times `log10(limit)`. More than 0.
    pub alpha: f64,
    /// Shrink above this queue, times `log10(limit)`. More than `alpha`.
    pub beta: f64,
    min_rtt_ms: f64,
}

impl Default for Vegas {
    fn default() -> Self {
        Self::new(3.0, 6.0)
    }
}

impl Vegas {
    /// An algorithm that has learned nothing; the fields give the ranges.
    #[must_use]
    pub const fn new(alpha: f64, beta: f64) -> Self {
        Self { alpha, beta, min_rtt_ms: f64::INFINITY }
    }

    /// The same options, without what was learned.
    #[must_use]
    pub const fn fresh(&self) -> Self {
        Self { min_rtt_ms: f64::INFINITY, ..*self }
    }
}

impl LimitAlgorithm for Vegas {
    fn on_sample(&mut self, sample: Sample) -> f64 {
        let Sample { rtt_ms, dropped, limit, .. } = sample;
        let scale = limit.max(SMALLEST_SCALED_LIMIT).log10();
        let (low, high) = (self.alpha * scale, self.beta * scale);
        if dropped {
            return limit - high;
        }
        if rtt_ms <= 0.0 {
            return limit;
        }
        self.min_rtt_ms = self.min_rtt_ms.min(rtt_ms);
        let queue = limit * (1.0 - self.min_rtt_ms / rtt_ms);
        let error = if queue < low {
            low - queue
        } else if queue > high {
            high - queue
        } else {
            0.0
        };
        limit + error / limit.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(algorithm: &mut Vegas, rtt_ms: f64, limit: f64) -> f64 {
        algorithm.on_sample(Sample { rtt_ms, inflight: 10, limit, ..Sample::default() })
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn grows_below_alpha_holds_in_the_band_and_shrinks_above_beta() {
        let mut algorithm = Vegas::default();
        close(feed(&mut algorithm, 10.0, 100.0), 100.0 + 6.0 / 100.0);
        close(feed(&mut algorithm, 10.0 / 0.91, 100.0), 100.0);
        close(feed(&mut algorithm, 20.0, 100.0), 100.0 - (50.0 - 12.0) / 100.0);
    }

    #[test]
    fn a_drop_takes_beta_off() {
        let mut algorithm = Vegas::default();
        close(
            algorithm.on_sample(Sample {
                rtt_ms: 9.0,
                inflight: 1,
                dropped: true,
                limit: 100.0,
                ..Sample::default()
            }),
            88.0,
        );
    }

    #[test]
    fn thresholds_are_never_below_those_of_a_limit_of_ten() {
        let mut algorithm = Vegas::default();
        close(feed(&mut algorithm, 10.0, 2.0), 2.0 + 3.0 / 2.0);
        close(feed(&mut algorithm, 10.0, 1.0), 4.0);
    }

    #[test]
    fn a_latency_of_zero_is_no_signal() {
        let mut algorithm = Vegas::default();
        close(feed(&mut algorithm, 0.0, 100.0), 100.0);
        close(feed(&mut algorithm, 10.0, 100.0), 100.06);
    }
}
