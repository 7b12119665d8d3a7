//! What a segment shows to its user, whichever way it is built.

use resilience::core::algorithm::Sample;
use resilience::core::clock::Nanos;
use resilience::core::effect::Reason;
use resilience::core::engine::Engine;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::outcome::Outcomes;
use resilience::core::slab::Key;

/// Names an execution in a program: the first is 0.
pub type Execution = usize;

/// Something that the user of a segment sees happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The execution runs.
    Running(Execution),
    /// The execution was turned away.
    Rejected { execution: Execution, gate: usize, reason: Reason, active: u32, queued: usize },
    /// A deadline of the execution has passed.
    TimedOut { execution: Execution, gate: usize },
    /// A limit has moved.
    LimitChanged { gate: usize, old: u32, new: u32, sample: Sample },
    /// An algorithm outside the core was asked.
    Sampled { gate: usize, sample: Sample, cuts: u32 },
}

/// What a limiter shows to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The limit.
    pub limit: u32,
    /// Executions that hold a permit.
    pub in_flight: u32,
    /// Executions that wait.
    pub queued: usize,
}

/// Reads the limiter at `gate` of `segment`; `None` if it is none.
pub fn counts(engine: &Engine, segment: Key, gate: usize) -> Option<Counts> {
    let permits: &Concurrency = engine.permits(segment, gate)?;
    Some(Counts { limit: permits.limit(), in_flight: permits.in_flight(), queued: permits.queued() })
}

/// The algorithm outside the core: cuts deep, grows fast, and now and then answers nonsense.
pub fn answer(sample: Sample) -> f64 {
    match (sample.dropped, sample.inflight) {
        (true, _) => sample.limit * 0.6,
        (false, 3) => f64::NAN,
        (false, _) => sample.limit + 1.5,
    }
}

/// A segment in use. Every call happens at the time of the last [`System::advance`].
pub trait System {
    /// Starts an execution.
    fn enter(&mut self, execution: Execution, parameter: Option<f64>);
    /// Ends an open one.
    fn exit(&mut self, execution: Execution, outcomes: Outcomes);
    /// Tells of an open one's first byte.
    fn mark(&mut self, execution: Execution);
    /// Lets the time pass until `now`, and fires the deadlines due by then.
    fn advance(&mut self, now: Nanos);
    /// Disposes of the segment.
    fn dispose(&mut self);
    /// Takes what has happened since the last call, oldest first.
    fn events(&mut self) -> Vec<Event>;
    /// Reads every gate.
    fn counts(&self) -> Vec<Option<Counts>>;
    /// How many tickets are open and whether any deadline is armed.
    fn pending(&self) -> (usize, bool);
}
