//! The limit algorithms as objects that JavaScript can feed.

use napi_derive::napi;

use super::fault::{Moment, reach};
use crate::core::algorithm::{self, LimitAlgorithm, Sample};

/// Makes a sample of a limiter's numbers.
const fn sample(rtt: f64, inflight: u32, dropped: bool, limit: f64) -> Sample {
    Sample { rtt_ms: rtt, inflight, dropped, limit }
}

/// Short-term latency against a long-term baseline.
#[napi]
pub struct Gradient2 {
    pub(super) state: algorithm::Gradient2,
}

#[napi]
impl Gradient2 {
    /// See `gradient2()` in `index.d.ts`.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub const fn new(
        tolerance: f64,
        short_window: f64,
        long_window: f64,
        smoothing: f64,
        backoff_ratio: f64,
    ) -> Self {
        let state = algorithm::Gradient2::new(tolerance, short_window, long_window, smoothing, backoff_ratio);
        Self { state }
    }

    /// The next limit, with `queue` permits of headroom.
    #[napi(catch_unwind)]
    pub fn sample(&mut self, rtt: f64, inflight: u32, dropped: bool, limit: f64, queue: f64) -> f64 {
        reach("Gradient2.sample", Moment::Before);
        self.state.on_sample_with_queue(sample(rtt, inflight, dropped, limit), queue)
    }
}

/// An estimate of the dependency's queue.
#[napi]
pub struct Vegas {
    pub(super) state: algorithm::Vegas,
}

#[napi]
impl Vegas {
    /// See `vegas()` in `index.d.ts`.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub const fn new(alpha: f64, beta: f64) -> Self {
        Self { state: algorithm::Vegas::new(alpha, beta) }
    }

    /// The next limit.
    #[napi(catch_unwind)]
    pub fn sample(&mut self, rtt: f64, inflight: u32, dropped: bool, limit: f64) -> f64 {
        reach("Vegas.sample", Moment::Before);
        self.state.on_sample(sample(rtt, inflight, dropped, limit))
    }
}

/// Additive increase, multiplicative decrease.
#[napi]
pub struct Aimd {
    pub(super) state: algorithm::Aimd,
}

#[napi]
impl Aimd {
    /// See `aimd()` in `index.d.ts`.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub const fn new(increase: f64, backoff_ratio: f64) -> Self {
        Self { state: algorithm::Aimd { increase, backoff_ratio } }
    }

    /// The next limit.
    #[napi(catch_unwind)]
    pub fn sample(&mut self, rtt: f64, inflight: u32, dropped: bool, limit: f64) -> f64 {
        reach("Aimd.sample", Moment::Before);
        self.state.on_sample(sample(rtt, inflight, dropped, limit))
    }
}
