//! Collects the gates of one segment. `lib/options.js` has validated every number.

#![expect(clippy::too_many_arguments, reason = "numbers are the cheapest thing to hand over")]

use napi::bindgen_prelude::Either4;
use napi::{Error, Result, Status};
use napi_derive::napi;

use super::algorithm::{Aimd, Gradient2, Knee, Vegas};
use super::fault::{Moment, reach};
use super::thread::Thread;
use crate::core::algorithm::Algorithm;
use crate::core::gate::Gate;
use crate::core::gate::adaptive::Adaptive;
use crate::core::gate::circuit_breaker::{self, CircuitBreaker};
use crate::core::gate::concurrency::Concurrency;
use crate::core::gate::deadline::Deadline;
use crate::core::gate::rate_limiter::{RateLimiter, Rule};
use crate::core::queue::Overflow;

/// Builds segments: runs of adjacent gates, outermost first.
#[napi]
#[derive(Default)]
pub struct ResiliencePipelineBuilder {
    gates: Vec<Gate>,
}

#[napi]
impl ResiliencePipelineBuilder {
    /// No gates yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        reach("ResiliencePipelineBuilder", Moment::Before);
        Self::default()
    }

    /// Adds a fixed concurrency limiter. `overflow` is 0 for reject-new, 1 for drop-oldest, 2 for
    /// drop-lowest-priority.
    #[napi(catch_unwind)]
    pub fn add_concurrency_limiter(
        &mut self,
        permit_limit: u32,
        queue_limit: u32,
        queue_timeout_ms: f64,
        overflow: u32,
    ) {
        reach("ResiliencePipelineBuilder.addConcurrencyLimiter", Moment::Before);
        self.gates.push(Gate::Concurrency(permits(permit_limit, queue_limit, queue_timeout_ms, overflow)));
    }

    /// Adds an adaptive concurrency limiter. Without an algorithm its samples go to JavaScript.
    #[napi(catch_unwind)]
    pub fn add_adaptive_concurrency_limiter(
        &mut self,
        algorithm: Option<Either4<&Gradient2, &Vegas, &Aimd, &Knee>>,
        initial_limit: u32,
        min_limit: u32,
        max_limit: u32,
        queue_limit: u32,
        queue_timeout_ms: f64,
        overflow: u32,
    ) {
        reach("ResiliencePipelineBuilder.addAdaptiveConcurrencyLimiter", Moment::Before);
        let algorithm = match algorithm {
            None => Algorithm::Outside,
            Some(Either4::A(algorithm)) => Algorithm::Gradient2(algorithm.state.fresh()),
            Some(Either4::B(algorithm)) => Algorithm::Vegas(algorithm.state.fresh()),
            Some(Either4::C(algorithm)) => Algorithm::Aimd(algorithm.state.clone()),
            Some(Either4::D(algorithm)) => Algorithm::Knee(Box::new(algorithm.state.fresh())),
        };
        let permits = permits(initial_limit, queue_limit, queue_timeout_ms, overflow);
        self.gates.push(Gate::Adaptive(Adaptive::new(permits, algorithm, min_limit, max_limit)));
    }

    /// Adds a circuit breaker. `consecutive_failures` of 0 is no limit of those; `slow_call_ms` may be infinite.
    #[napi(catch_unwind)]
    pub fn add_circuit_breaker(
        &mut self,
        failure_ratio: f64,
        minimum_throughput: u32,
        sampling_ms: f64,
        break_ms: f64,
        half_open_probes: u32,
        slow_call_ms: f64,
        slow_call_ratio: f64,
        consecutive_failures: u32,
    ) {
        reach("ResiliencePipelineBuilder.addCircuitBreaker", Moment::Before);
        self.gates.push(Gate::CircuitBreaker(CircuitBreaker::new(circuit_breaker::Settings {
            failure_ratio,
            slow_call_ratio,
            slow_call_ms,
            minimum_throughput,
            consecutive_failures,
            sampling_ms,
            break_ms,
            half_open_probes,
        })));
    }

    /// Adds a rate limiter. `rule` is 0 for a fixed window, 1 for a sliding one, 2 for a token bucket of `burst`.
    #[napi(catch_unwind)]
    pub fn add_rate_limiter(
        &mut self,
        rule: u32,
        permit_limit: u32,
        window_ms: f64,
        burst: u32,
        max_keys: u32,
        queue_limit: u32,
    ) {
        reach("ResiliencePipelineBuilder.addRateLimiter", Moment::Before);
        let rule = match rule {
            0 => Rule::FixedWindow,
            1 => Rule::SlidingWindow,
            _ => Rule::TokenBucket { burst },
        };
        let (max_keys, queue_limit) = (max_keys as usize, queue_limit as usize);
        self.gates.push(Gate::RateLimiter(RateLimiter::new(rule, permit_limit, window_ms, max_keys, queue_limit)));
    }

    /// Adds a timeout; infinite if each execution states its own.
    #[napi(catch_unwind)]
    pub fn add_timeout(&mut self, timeout_ms: f64) {
        reach("ResiliencePipelineBuilder.addTimeout", Moment::Before);
        self.gates.push(Gate::Deadline(Deadline { timeout_ms }));
    }

    /// Compiles the gates into a segment of `thread` and returns its key.
    ///
    /// # Errors
    ///
    /// With no gates, or too many.
    #[napi(catch_unwind)]
    pub fn build(&mut self, thread: &Thread) -> Result<f64> {
        reach("ResiliencePipelineBuilder.build", Moment::Before);
        let mut gates = std::mem::take(&mut self.gates);
        let segment = thread.handle.call(|state| {
            for gate in &mut gates {
                if let Gate::Adaptive(adaptive) = gate {
                    adaptive.share_clock(state.clock.shared_offset_ms());
                }
            }
            state.engine.add_segment(gates).map(crate::core::slab::Key::to_f64)
        });
        if segment.is_nan() {
            return Err(Error::new(Status::GenericFailure, thread.handle.fault()));
        }
        Ok(segment)
    }
}

fn permits(limit: u32, queue_limit: u32, queue_timeout_ms: f64, overflow: u32) -> Concurrency {
    let overflow = match overflow {
        0 => Overflow::RejectNew,
        1 => Overflow::DropOldest,
        _ => Overflow::DropLowestPriority,
    };
    Concurrency::new(limit, queue_limit as usize, queue_timeout_ms, overflow)
}
