//! A scenario as JavaScript hands it over, in numbers.

use napi_derive::napi;

use crate::core::algorithm::Algorithm;
use crate::core::queue::Overflow;
use crate::core::simulate::scenario::{
    Arrivals, Caller, Costs, Dependency, EventLoop, Limiter, Overload, Phase, Retries, Scenario, Stall,
};
use crate::core::simulate::service::{Service, Spread};

/// See [`Scenario`]. Infinite for no deadline and no timeout.
#[napi(object)]
pub struct NativeScenario {
    pub duration_ms: f64,
    pub deadline_ms: f64,
    pub timeout_ms: f64,
    /// Of the series.
    pub points: u32,
    pub seed: f64,
    pub limiter: NativeLimiter,
    pub dependency: NativeDependency,
    pub callers: Vec<NativeCaller>,
    pub phases: Vec<NativePhase>,
    pub windows: Vec<NativeWindow>,
    pub event_loop: Option<NativeEventLoop>,
}

/// See [`EventLoop`]. Pauses infinitely far apart are none. Without `overload` calls pass the limiter.
#[napi(object)]
pub struct NativeEventLoop {
    pub cpu: NativeService,
    pub before: f64,
    pub io_calls: u32,
    pub fresh: bool,
    pub accepts_all: bool,
    pub backlog: u32,
    pub turn_ms: f64,
    pub accept_ms: f64,
    pub parse_ms: f64,
    pub refuse_ms: f64,
    pub answer_ms: f64,
    pub pause_every_ms: f64,
    pub pause_ms: f64,
    pub overload: bool,
    pub target_ms: f64,
    pub max_ms: f64,
}

/// See [`Limiter`]. `overflow` is 0 for reject-new, 1 for drop-oldest, 2 for drop-lowest-priority.
#[napi(object)]
pub struct NativeLimiter {
    pub initial_limit: u32,
    pub min_limit: u32,
    pub max_limit: u32,
    pub queue_limit: u32,
    pub queue_timeout_ms: f64,
    pub overflow: u32,
    pub operation_keys: bool,
}

/// See [`Dependency`]. Stalls infinitely far apart are none.
#[napi(object)]
pub struct NativeDependency {
    pub workers: u32,
    pub sharing: bool,
    pub service: NativeService,
    pub loss: f64,
    pub stall_every_ms: f64,
    pub stall_ms: f64,
}

/// See [`Service`]. `kind` is 0 for constant, 1 for uniform (`a` its jitter), 2 for Erlang (shape), 3 for
/// lognormal (cv), 4 for bimodal (slow share, slow factor), 5 for Pareto (shape).
#[napi(object)]
pub struct NativeService {
    pub kind: u32,
    pub mean_ms: f64,
    pub a: f64,
    pub b: f64,
}

/// See [`Caller`]. `arrivals` is 0 for even, 1 for Poisson, 2 for bursts, 3 for a closed loop.
#[napi(object)]
pub struct NativeCaller {
    pub client: u32,
    pub priority: f64,
    pub operation: u32,
    pub service: Option<NativeService>,
    pub arrivals: u32,
    pub rate: f64,
    pub burst: u32,
    pub users: u32,
    pub think_ms: f64,
    pub retries: u32,
    pub retry_delay_ms: f64,
    pub retry_backoff: f64,
    pub cpu: Option<NativeService>,
    pub streams: bool,
}

/// See [`Phase`]. Both stall fields are there, or none.
#[napi(object)]
pub struct NativePhase {
    pub at_ms: f64,
    pub workers: Option<u32>,
    pub slowdown: Option<f64>,
    pub loss: Option<f64>,
    pub stall_every_ms: Option<f64>,
    pub stall_ms: Option<f64>,
    pub rates: Vec<f64>,
}

/// A span of which figures are wanted.
#[napi(object)]
pub struct NativeWindow {
    pub from_ms: f64,
    pub to_ms: f64,
}

impl NativeScenario {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer below 2^53")]
    pub const fn seed(&self) -> u64 {
        self.seed as u64
    }

    pub fn into_core(self, algorithm: Option<Algorithm>) -> Scenario {
        let Self {
            duration_ms, deadline_ms, timeout_ms, limiter, dependency, callers, phases, event_loop, ..
        } = self;
        Scenario {
            duration_ms,
            deadline_ms,
            timeout_ms,
            limiter: Limiter {
                algorithm,
                initial_limit: limiter.initial_limit,
                min_limit: limiter.min_limit,
                max_limit: limiter.max_limit,
                queue_limit: limiter.queue_limit as usize,
                queue_timeout_ms: limiter.queue_timeout_ms,
                overflow: match limiter.overflow {
                    0 => Overflow::RejectNew,
                    1 => Overflow::DropOldest,
                    _ => Overflow::DropLowestPriority,
                },
                operation_keys: limiter.operation_keys,
            },
            dependency: Dependency {
                workers: dependency.workers as usize,
                sharing: dependency.sharing,
                service: dependency.service.into(),
                loss: dependency.loss,
                stall: stall(dependency.stall_every_ms, dependency.stall_ms),
            },
            callers: callers.into_iter().map(Into::into).collect(),
            phases: phases.into_iter().map(Into::into).collect(),
            event_loop: event_loop.map(Into::into),
        }
    }
}

fn stall(every_ms: f64, length_ms: f64) -> Option<Stall> {
    every_ms.is_finite().then_some(Stall { every_ms, length_ms })
}

impl From<NativeService> for Service {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small integer")]
    fn from(NativeService { kind, mean_ms, a, b }: NativeService) -> Self {
        let spread = match kind {
            0 => Spread::Constant,
            1 => Spread::Uniform { jitter: a },
            2 => Spread::Erlang { shape: a as u32 },
            3 => Spread::Lognormal { cv: a },
            4 => Spread::Bimodal { slow_share: a, slow_factor: b },
            _ => Spread::Pareto { shape: a },
        };
        Self { mean_ms, spread }
    }
}

impl From<NativeCaller> for Caller {
    fn from(caller: NativeCaller) -> Self {
        Self {
            client: caller.client as usize,
            priority: caller.priority,
            operation: u8::try_from(caller.operation).unwrap_or(u8::MAX),
            service: caller.service.map(Into::into),
            arrivals: match caller.arrivals {
                0 => Arrivals::Even,
                1 => Arrivals::Poisson,
                2 => Arrivals::Bursts { size: caller.burst },
                _ => Arrivals::Closed { users: caller.users, think_ms: caller.think_ms },
            },
            rate: caller.rate,
            retries: (caller.retries > 0).then_some(Retries {
                attempts: caller.retries,
                delay_ms: caller.retry_delay_ms,
                backoff: caller.retry_backoff,
            }),
            cpu: caller.cpu.map(Into::into),
            streams: caller.streams,
        }
    }
}

impl From<NativeEventLoop> for EventLoop {
    fn from(described: NativeEventLoop) -> Self {
        let NativeEventLoop { target_ms, max_ms, .. } = described;
        Self {
            cpu: described.cpu.into(),
            before: described.before,
            io_calls: described.io_calls,
            fresh: described.fresh,
            accepts_all: described.accepts_all,
            backlog: described.backlog as usize,
            costs: Costs {
                turn_ms: described.turn_ms,
                accept_ms: described.accept_ms,
                parse_ms: described.parse_ms,
                refuse_ms: described.refuse_ms,
                answer_ms: described.answer_ms,
            },
            pause: stall(described.pause_every_ms, described.pause_ms),
            tells_idle: true,
            overload: described.overload.then_some(Overload { target_ms, max_ms }),
        }
    }
}

impl From<NativePhase> for Phase {
    fn from(phase: NativePhase) -> Self {
        let stalls = phase.stall_every_ms.zip(phase.stall_ms);
        Self {
            at_ms: phase.at_ms,
            workers: phase.workers.map(|workers| workers as usize),
            slowdown: phase.slowdown,
            loss: phase.loss,
            stall: stalls.map(|(every_ms, length_ms)| stall(every_ms, length_ms)),
            rates: phase.rates,
        }
    }
}
