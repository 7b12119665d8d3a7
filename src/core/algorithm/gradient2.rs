//! Latency against its own long-term baseline.
//!
//! After Netflix's concurrency-limits (`Gradient2Limit`,
//! <https://github.com/Netflix/concurrency-limits>), with one change: there the long-term average also follows
//! latency that overload causes, so that the limit creeps up without bound. Here the baseline falls at once to
//! any lower short-term latency, and rises only while latency is within tolerance.

use super::{LimitAlgorithm, Sample};

/// `gradient = clamp(tolerance * baseline / short, 0.5, 1)`, then
/// `limit * (1 - smoothing) + (limit * gradient + queue) * smoothing`.
#[derive(Clone, Debug)]
pub struct Gradient2 {
    /// How far short-term latency may exceed the baseline before the limit shrinks. At least 1.
    pub tolerance: f64,
    /// Samples in the short-term average. At least 1.
    pub short_window: f64,
    /// Samples in the baseline's average. At least 1.
    pub long_window: f64,
    /// Weight of each new estimate, in `(0, 1]`.
    pub smoothing: f64,
    /// Multiplier on a drop, in `(0, 1)`.
    pub backoff_ratio: f64,
    short: Option<f64>,
    baseline: f64,
}

impl Default for Gradient2 {
    fn default() -> Self {
        Self::new(1.5, 10.0, 600.0, 0.2, 0.9)
    }
}

/// An exponential moving average over about `window` samples, moved by one sample.
fn average(mean: f64, sample: f64, window: f64) -> f64 {
    mean + (sample - mean) * 2.0 / (window + 1.0)
}

impl Gradient2 {
    /// An algorithm that has learned nothing; the fields give the ranges.
    #[must_use]
    pub const fn new(
        tolerance: f64,
        short_window: f64,
        long_window: f64,
        smoothing: f64,
        backoff_ratio: f64,
    ) -> Self {
        let baseline = f64::INFINITY;
        Self { tolerance, short_window, long_window, smoothing, backoff_ratio, short: None, baseline }
    }

    /// The same options, without what was learned.
    #[must_use]
    pub const fn fresh(&self) -> Self {
        Self { short: None, baseline: f64::INFINITY, ..*self }
    }

    /// As [`LimitAlgorithm::on_sample`], with `queue` permits of headroom added instead of the limit's root.
    pub fn on_sample_with_queue(&mut self, sample: Sample, queue: f64) -> f64 {
        let Sample { rtt_ms, dropped, limit, .. } = sample;
        if dropped {
            return limit * self.backoff_ratio;
        }
        // An average never forgets a value that is not finite.
        if rtt_ms <= 0.0 || !rtt_ms.is_finite() {
            return limit;
        }
        let short = self.short.map_or(rtt_ms, |short| average(short, rtt_ms, self.short_window));
        self.short = Some(short);
        if short < self.baseline {
            self.baseline = short;
        } else if short <= self.tolerance * self.baseline {
            self.baseline = average(self.baseline, short, self.long_window);
        }
        let gradient = (self.tolerance * self.baseline / short).clamp(0.5, 1.0);
        limit * (1.0 - self.smoothing) + (limit * gradient + queue) * self.smoothing
    }
}

impl LimitAlgorithm for Gradient2 {
    fn on_sample(&mut self, sample: Sample) -> f64 {
        self.on_sample_with_queue(sample, sample.limit.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(algorithm: &mut Gradient2, rtt_ms: f64, limit: f64) -> f64 {
        algorithm.on_sample(Sample { rtt_ms, inflight: 10, limit, ..Sample::default() })
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn a_latency_that_is_no_number_is_not_remembered() {
        let mut algorithm = Gradient2::default();
        close(feed(&mut algorithm, f64::NAN, 100.0), 100.0);
        close(feed(&mut algorithm, f64::INFINITY, 100.0), 100.0);
        close(feed(&mut algorithm, 10.0, 100.0), 102.0);
    }

    #[test]
    fn grows_by_the_root_of_the_limit_while_latency_is_flat() {
        let mut algorithm = Gradient2::default();
        close(feed(&mut algorithm, 10.0, 100.0), 102.0);
        close(feed(&mut algorithm, 10.0, 100.0), 102.0);
    }

    #[test]
    fn shrinks_in_proportion_once_latency_is_out_of_tolerance_but_never_below_half() {
        let mut algorithm = Gradient2 { short_window: 1.0, ..Gradient2::default() };
        feed(&mut algorithm, 10.0, 100.0);
        close(feed(&mut algorithm, 20.0, 100.0), 80.0 + (75.0 + 10.0) * 0.2);
        close(feed(&mut algorithm, 1000.0, 100.0), 80.0 + (50.0 + 10.0) * 0.2);
    }

    #[test]
    fn a_drop_multiplies_the_limit_and_leaves_the_averages() {
        let mut algorithm = Gradient2::default();
        feed(&mut algorithm, 10.0, 100.0);
        close(
            algorithm.on_sample(Sample {
                rtt_ms: 500.0,
                inflight: 1,
                dropped: true,
                limit: 100.0,
                ..Sample::default()
            }),
            90.0,
        );
        close(feed(&mut algorithm, 10.0, 100.0), 102.0);
    }

    #[test]
    fn latency_out_of_tolerance_never_raises_the_baseline() {
        let mut algorithm = Gradient2 { short_window: 1.0, ..Gradient2::default() };
        feed(&mut algorithm, 10.0, 100.0);
        for _ in 0..100_000 {
            feed(&mut algorithm, 16.0, 100.0);
        }
        close(algorithm.baseline, 10.0);
        feed(&mut algorithm, 4.0, 100.0);
        close(algorithm.baseline, 4.0);
    }

    #[test]
    fn a_latency_of_zero_is_no_signal() {
        let mut algorithm = Gradient2::default();
        close(feed(&mut algorithm, 0.0, 100.0), 100.0);
        close(feed(&mut algorithm, 10.0, 100.0), 102.0);
        close(algorithm.baseline, 10.0);
    }
}
