//! What a call brought about besides its answer.

use super::algorithm::Sample;
use super::slab::Key;

/// Why a limiter turned an execution away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The limit was reached and the queue was full.
    Full,
    /// It waited as long as the queue allows.
    QueueTimeout,
    /// It made room in the queue for another.
    Dropped,
    /// The pipeline was disposed.
    Disposed,
}

/// A refusal, with the limiter's counts at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the limiter in its segment.
    pub gate: usize,
    /// Why.
    pub reason: Reason,
    /// Executions that held a permit.
    pub active: u32,
    /// Executions that waited.
    pub queued: usize,
}

/// Something the caller has to act on. A ticket named by an effect stays open until its exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// A waiting execution has passed every gate and may run.
    Admitted {
        /// Its ticket.
        ticket: Key,
    },
    /// A waiting execution was turned away.
    Rejected {
        /// Its ticket.
        ticket: Key,
        /// By whom and why.
        refusal: Refusal,
    },
    /// An execution's deadline has passed.
    TimedOut {
        /// Its ticket.
        ticket: Key,
        /// Index of the deadline's gate.
        gate: usize,
    },
    /// The whole-number limit of an adaptive limiter has moved.
    LimitChanged {
        /// The limiter's segment.
        segment: Key,
        /// Index of the limiter.
        gate: usize,
        /// The limit before.
        old: u32,
        /// The limit now.
        new: u32,
        /// What moved it.
        sample: Sample,
    },
    /// A sample waits for an algorithm outside the core; its answer comes back by
    /// [`apply_limit`](super::engine::Engine::apply_limit).
    Sampled {
        /// The limiter's segment.
        segment: Key,
        /// Index of the limiter.
        gate: usize,
        /// The sample.
        sample: Sample,
        /// How often the limit had been cut when the sampled execution got its permit.
        cuts: u32,
    },
    /// A deadline was handed to timers outside the core (see [`Driver`](super::timers::Driver)).
    Armed {
        /// Names the timer.
        timer: Key,
        /// Milliseconds until it is due.
        delay_ms: f64,
    },
    /// An outside timer is no longer needed.
    Disarmed {
        /// Names the timer.
        timer: Key,
    },
}
