//! What a simulation plays.

use super::service::Service;
use crate::core::algorithm::Algorithm;
use crate::core::gate::Gate;
use crate::core::gate::adaptive::Adaptive;
use crate::core::gate::concurrency::Concurrency;
use crate::core::gate::deadline::Deadline;
use crate::core::queue::Overflow;

/// A fixed limit that means none.
pub const NO_LIMIT: u32 = i32::MAX as u32;

/// One run, but for its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// When it ends.
    pub duration_ms: f64,
    /// What an answer may take to count as a good one; infinite for any.
    pub deadline_ms: f64,
    /// The timeout inside of the limiter; infinite for none.
    pub timeout_ms: f64,
    /// The limiter of each client.
    pub limiter: Limiter,
    /// What they share.
    pub dependency: Dependency,
    /// Who comes.
    pub callers: Vec<Caller>,
    /// What changes, in order of time.
    pub phases: Vec<Phase>,
    /// The event loop that runs the calls, if that is what they are short of.
    pub event_loop: Option<EventLoop>,
}

impl Scenario {
    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.callers.iter().map(|caller| caller.client + 1).max().unwrap_or_default()
    }

    /// The first limits of all clients, added up; 0 for no limit.
    #[must_use]
    pub fn first_limit(&self) -> u32 {
        if self.limiter.algorithm.is_none() && self.limiter.initial_limit >= NO_LIMIT {
            return 0;
        }
        self.limiter.initial_limit.saturating_mul(u32::try_from(self.clients()).unwrap_or(u32::MAX))
    }

    /// The gates of one client. All clients have one clock.
    #[must_use]
    pub fn gates(&self) -> Vec<Gate> {
        let limiter = &self.limiter;
        let permits = Concurrency::new(
            limiter.initial_limit,
            limiter.queue_limit,
            limiter.queue_timeout_ms,
            limiter.overflow,
        );
        let limiter = match &limiter.algorithm {
            None => Gate::Concurrency(permits),
            Some(algorithm) => {
                let (min, max) = (limiter.min_limit, limiter.max_limit);
                let mut adaptive = Adaptive::new(permits, algorithm.clone(), min, max);
                adaptive.share_clock(0.0);
                Gate::Adaptive(adaptive)
            }
        };
        if self.timeout_ms.is_finite() {
            vec![limiter, Gate::Deadline(Deadline { timeout_ms: self.timeout_ms })]
        } else {
            vec![limiter]
        }
    }
}

/// A concurrency limiter, fixed or adaptive.
#[derive(Clone, Debug)]
pub struct Limiter {
    /// What moves the limit; `None` for a fixed one.
    pub algorithm: Option<Algorithm>,
    /// The first limit.
    pub initial_limit: u32,
    /// The lowest.
    pub min_limit: u32,
    /// The highest.
    pub max_limit: u32,
    /// Calls that may wait.
    pub queue_limit: usize,
    /// How long; infinite for any time.
    pub queue_timeout_ms: f64,
    /// Who goes when the queue is full.
    pub overflow: Overflow,
    /// Whether the algorithm is told the kind of each call.
    pub operation_keys: bool,
}

/// What calls are made to.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// Calls that are served at once.
    pub workers: usize,
    /// Whether calls beyond that share the workers, rather than wait for one.
    pub sharing: bool,
    /// How long a call takes, where its caller states nothing else.
    pub service: Service,
    /// The share of calls that it fails.
    pub loss: f64,
    /// Now and then it does nothing at all.
    pub stall: Option<Stall>,
}

/// A regular pause of the dependency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// From one beginning to the next.
    pub every_ms: f64,
    /// How long each lasts.
    pub length_ms: f64,
}

/// A thread that reads calls, computes for them, and waits for the dependency meanwhile.
#[derive(Clone, Debug)]
pub struct EventLoop {
    /// How long a call computes in all, where its caller states nothing else.
    pub cpu: Service,
    /// The share of that before it calls the dependency.
    pub before: f64,
    /// How often it calls the dependency, one after the other; 0 for never. It computes after each.
    pub io_calls: u32,
    /// Whether each call comes over a connection of its own.
    pub fresh: bool,
    /// Whether a turn accepts all connections that wait, rather than one.
    pub accepts_all: bool,
    /// Connections that may wait for that; others are lost.
    pub backlog: usize,
    /// What each step costs.
    pub costs: Costs,
    /// Now and then it does nothing at all.
    pub pause: Option<Stall>,
    /// Whether the runtime tells how long the loop sleeps.
    pub tells_idle: bool,
    /// What lets calls start, in place of the limiter.
    pub overload: Option<Overload>,
}

impl EventLoop {
    /// The loop's time for a call that computes so long.
    #[must_use]
    pub fn cost_ms(&self, cpu_ms: f64) -> f64 {
        let Costs { accept_ms, parse_ms, answer_ms, .. } = self.costs;
        cpu_ms + parse_ms + answer_ms + if self.fresh { accept_ms } else { 0.0 }
    }
}

/// Milliseconds of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Of a turn in which nothing happens.
    pub turn_ms: f64,
    /// Of a connection.
    pub accept_ms: f64,
    /// Of reading a call.
    pub parse_ms: f64,
    /// Of a refusal.
    pub refuse_ms: f64,
    /// Of an answer.
    pub answer_ms: f64,
}

/// The protection of the loop: see [`turns`](crate::core::turns).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// How long calls wait while more come than can be served.
    pub target_ms: f64,
    /// The longest wait at all.
    pub max_ms: f64,
}

/// A kind of traffic.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Which client's limiter its calls pass.
    pub client: usize,
    /// Lower is more important.
    pub priority: f64,
    /// The number of its kind of operation.
    pub operation: u8,
    /// How long its calls take; `None` for the dependency's usual time.
    pub service: Option<Service>,
    /// How its calls come.
    pub arrivals: Arrivals,
    /// Calls in a second at first; of no meaning in a closed loop.
    pub rate: f64,
    /// What it does after a failure.
    pub retries: Option<Retries>,
    /// How long the loop computes for its calls; `None` for its usual time.
    pub cpu: Option<Service>,
    /// Whether an answer begins before the dependency is called, and ends after it: an event stream.
    pub streams: bool,
}

/// How calls come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// At random, independent of each other.
    Poisson,
    /// At random, several at once.
    Bursts {
        /// Calls in a burst.
        size: u32,
    },
    /// From users who wait for their answer, then think.
    Closed {
        /// How many.
        users: u32,
        /// The mean of an exponential pause.
        think_ms: f64,
    },
}

/// Further attempts at a call that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// At the most.
    pub attempts: u32,
    /// Before the first of them.
    pub delay_ms: f64,
    /// What each delay is multiplied by for the next.
    pub backoff: f64,
}

/// A change of the world. What is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// When.
    pub at_ms: f64,
    /// Calls that are served at once.
    pub workers: Option<usize>,
    /// What usual service times are multiplied by, for calls that begin.
    pub slowdown: Option<f64>,
    /// The share of calls that the dependency fails.
    pub loss: Option<f64>,
    /// Its pauses; `Some(None)` ends them.
    pub stall: Option<Option<Stall>>,
    /// Calls in a second, one number a caller; not a number for no change.
    pub rates: Vec<f64>,
}
