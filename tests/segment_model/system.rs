//! What a segment shows to its user, whichever way it is built.

use resilience::core::algorithm::Sample;
use resilience::core::clock::Nanos;
use resilience::core::effect::Refusal;
use resilience::core::engine::Engine;
use resilience::core::gate::circuit_breaker::{Circuit, CircuitBreaker, Opening};
use resilience::core::outcome::Outcomes;
use resilience::core::slab::Key;

use super::program::KEYS;

/// Names an execution in a program: the first is 0.
pub type Execution = usize;

/// Something that the user of a segment sees happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The execution runs.
    Running(Execution),
    /// The execution was turned away.
    Rejected { execution: Execution, refusal: Refusal },
    /// A deadline of the execution has passed.
    TimedOut { execution: Execution, gate: usize },
    /// A limit has moved.
    LimitChanged { gate: usize, old: u32, new: u32, sample: Sample },
    /// The user has to answer.
    Asked { gate: usize, question: Question },
    /// A circuit let its first probe in.
    CircuitHalfOpened { gate: usize, execution: Execution },
    /// A circuit closed.
    CircuitClosed { gate: usize, execution: Execution },
    /// A rate limiter forgot a key that mattered.
    KeyEvicted { gate: usize },
}

/// What the user answers after the call that it was asked in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// An adaptive limiter with an algorithm outside the core: which limit comes next?
    Limit { sample: Sample, cuts: u32 },
    /// A circuit that this execution has opened: for how long?
    Break { execution: Execution, opening: Opening },
}

/// The user's answer. The algorithm cuts deep, grows fast, and now and then answers nonsense; breaks grow from
/// one opening to the next, the first of them excepted.
pub fn answer(engine: &mut Engine, segment: Key, gate: usize, question: Question) {
    match question {
        Question::Limit { sample, cuts } => {
            let next = match (sample.dropped, sample.inflight) {
                (true, _) => sample.limit * 0.6,
                (false, 3) => f64::NAN,
                (false, _) => sample.limit + 1.5,
            };
            engine.apply_limit(segment, gate, next, sample, cuts).expect("an adaptive limiter");
        }
        Question::Break { opening: Opening { epoch, break_ms, half_open_attempts, .. }, .. } => {
            if half_open_attempts > 0 {
                let breaker = engine.circuit_breaker(segment, gate).expect("a breaker");
                breaker.set_break(epoch, break_ms * f64::from(1 + half_open_attempts));
            }
        }
    }
}

/// What a gate shows to a reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A concurrency limiter.
    Permits(Counts),
    /// A circuit breaker.
    Circuit { circuit: Circuit, break_remaining_ms: f64 },
    /// A rate limiter, and what each key of the program has.
    Rate { queued: usize, keys: usize, evictions: u64, available: [u32; KEYS], reset_at: [Nanos; KEYS] },
    /// A deadline.
    Nothing,
}

/// The counts of a concurrency limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The limit.
    pub limit: u32,
    /// Executions that hold a permit.
    pub in_flight: u32,
    /// Executions that wait.
    pub queued: usize,
}

/// Reads the gate at `gate` of `segment`.
pub fn read(engine: &mut Engine, segment: Key, gate: usize) -> Reading {
    let now = engine.now();
    if let Some(permits) = engine.permits(segment, gate) {
        return Reading::Permits(Counts {
            limit: permits.limit(),
            in_flight: permits.in_flight(),
            queued: permits.queued(),
        });
    }
    if let Ok(limiter) = engine.rate_limiter(segment, gate) {
        let keys = std::array::from_fn(|key| key as u64);
        return Reading::Rate {
            queued: limiter.queued(),
            keys: limiter.keys(),
            evictions: limiter.evictions(),
            available: keys.map(|key| limiter.available(key, now)),
            reset_at: keys.map(|key| limiter.reset_at(key, now)),
        };
    }
    engine.circuit_breaker(segment, gate).map_or(Reading::Nothing, |breaker| Reading::Circuit {
        circuit: breaker.circuit(now),
        break_remaining_ms: breaker.break_remaining_ms(now),
    })
}

/// A segment in use. Every call happens at the time of the last [`System::advance`].
pub trait System {
    /// Starts an execution.
    fn enter(&mut self, execution: Execution, parameter: Option<f64>);
    /// Ends an open one. True if that moved a circuit.
    fn exit(&mut self, execution: Execution, outcomes: Outcomes) -> bool;
    /// Tells of an open one's first byte.
    fn mark(&mut self, execution: Execution);
    /// Lets the time pass until `now`, and fires the deadlines due by then.
    fn advance(&mut self, now: Nanos);
    /// Disposes of the segment.
    fn dispose(&mut self);
    /// The breaker at `gate`, to be moved by hand.
    fn breaker(&mut self, gate: usize) -> Option<&mut CircuitBreaker>;
    /// Takes what has happened since the last call, oldest first.
    fn events(&mut self) -> Vec<Event>;
    /// Reads every gate.
    fn readings(&mut self) -> Vec<Reading>;
    /// How many tickets are open and whether any deadline is armed.
    fn pending(&self) -> (usize, bool);
}
