//! Additive increase, multiplicative decrease: latency is ignored, only drops lower the limit.
//!
//! After Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
//! Networks" (1989), as in TCP Reno.

use super::{LimitAlgorithm, Sample};

/// `+ increase / limit` a success, `* backoff_ratio` a drop.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// Permits added in a round trip. More than 0.
    pub increase: f64,
    /// Multiplier on a drop, in `(0, 1)`.
    pub backoff_ratio: f64,
}

impl Default for Aimd {
    fn default() -> Self {
        Self { increase: 1.0, backoff_ratio: 0.9 }
    }
}

impl LimitAlgorithm for Aimd {
    fn on_sample(&mut self, sample: Sample) -> f64 {
        if sample.dropped {
            sample.limit * self.backoff_ratio
        } else {
            sample.limit + self.increase / sample.limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_about_one_in_a_round_trip_and_multiplies_on_a_drop() {
        let mut algorithm = Aimd::default();
        let mut limit = 10.0;
        for _ in 0..10 {
            limit = algorithm.on_sample(Sample { inflight: 1, limit, ..Sample::default() });
        }
        assert!((limit - 11.0).abs() < 0.06, "{limit}");
        limit = algorithm.on_sample(Sample { inflight: 1, dropped: true, limit: 10.0, ..Sample::default() });
        assert!((limit - 9.0).abs() < 1e-9, "{limit}");
    }
}
