//! The limit algorithms as objects that JavaScript can feed.

#![expect(clippy::too_many_arguments, reason = "numbers are the cheapest thing to hand over")]

use napi_derive::napi;

use super::fault::{Moment, reach};
use crate::core::algorithm::knee::settings::Settings;
use crate::core::algorithm::knee::target::Queue;
use crate::core::algorithm::{self, LimitAlgorithm, Sample};

/// A sample for those that read no clock.
const fn sample(rtt: f64, inflight: u32, dropped: bool, limit: f64) -> Sample {
    Sample { rtt_ms: rtt, inflight, dropped, limit, now_ms: 0.0, started_ms: 0.0, operation: None }
}

/// A kind of operation from its number, which is negative for none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
pub fn kind(operation: f64) -> Option<u8> {
    (operation >= 0.0).then_some(operation as u8)
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

/// A mean queue of a few calls.
#[napi]
pub struct Knee {
    pub(super) state: algorithm::Knee,
}

#[napi]
impl Knee {
    /// See `knee()` in `index.d.ts`. `queue` is 0 for short, 1 for balanced, 2 for long.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(headroom: f64, queue: u32) -> Self {
        let queue = match queue {
            0 => Queue::Short,
            1 => Queue::Balanced,
            _ => Queue::Long,
        };
        Self { state: algorithm::Knee::new(Settings { headroom, queue }) }
    }

    /// The next limit. `operation` is the number of the call's kind, or negative for none.
    #[napi(catch_unwind)]
    pub fn sample(
        &mut self,
        rtt: f64,
        inflight: u32,
        dropped: bool,
        limit: f64,
        now: f64,
        started_at: f64,
        operation: f64,
    ) -> f64 {
        reach("Knee.sample", Moment::Before);
        let operation = kind(operation);
        let (rtt_ms, now_ms, started_ms) = (rtt, now, started_at);
        self.state.on_sample(Sample { rtt_ms, inflight, dropped, limit, now_ms, started_ms, operation })
    }
}
