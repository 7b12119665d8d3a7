//! What a call brought about besides its answer.

use super::algorithm::Sample;
use super::algorithm::knee::decision::Decision;
use super::gate::circuit_breaker::Opening;
use super::slab::Key;

/// Why a gate turned an execution away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No permit was left, and no place in the queue.
    Full,
    /// It waited as long as the queue allows.
    QueueTimeout,
    /// It made room in the queue for another.
    Dropped,
    /// The pipeline was disposed.
    Disposed,
    /// The circuit is open.
    Broken,
    /// The circuit is isolated.
    Isolated,
}

/// A refusal, with the gate's counts at that moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// Index of the gate in its segment.
    pub gate: usize,
    /// Why.
    pub reason: Reason,
    /// Executions that held a permit.
    pub active: u32,
    /// Executions that waited.
    pub queued: usize,
    /// In how many milliseconds the gate may let one in again, where that is known.
    pub retry_after_ms: Option<f64>,
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
    /// An adaptive limiter has decided on its limit, or to leave it. Told by the algorithm that can give reasons.
    LimitDecided {
        /// The limiter's segment.
        segment: Key,
        /// Index of the limiter.
        gate: usize,
        /// What and why.
        decision: Decision,
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
    /// An execution's end has opened a circuit.
    CircuitOpened {
        /// The breaker's segment.
        segment: Key,
        /// Index of the breaker.
        gate: usize,
        /// The execution, which has ended.
        ticket: Key,
        /// How it opened.
        opening: Opening,
    },
    /// An execution is the first probe of a circuit that was open.
    CircuitHalfOpened {
        /// The breaker's segment.
        segment: Key,
        /// Index of the breaker.
        gate: usize,
        /// The probe.
        ticket: Key,
    },
    /// An execution's end has closed a circuit.
    CircuitClosed {
        /// The breaker's segment.
        segment: Key,
        /// Index of the breaker.
        gate: usize,
        /// The execution, which has ended.
        ticket: Key,
    },
    /// A rate limiter forgot a key that still mattered, for the first time: it has more keys than it may keep.
    KeyEvicted {
        /// The limiter's segment.
        segment: Key,
        /// Index of the limiter.
        gate: usize,
    },
    /// A sleep is over.
    Woken {
        /// The sleep.
        sleep: Key,
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
