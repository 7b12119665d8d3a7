//! All segments, executions and deadlines of one thread.

use std::collections::VecDeque;

use super::algorithm::Sample;
use super::clock::Nanos;
use super::effect::Effect;
use super::error::Error;
use super::gate::Gate;
use super::gate::concurrency::Concurrency;
use super::outcome::{Outcome, Outcomes};
use super::segment::{Entry, Ledger, Segment};
use super::slab::{Key, Slab};
use super::ticket::MAX_GATES;
use super::timers::{Alarm, Driver};

/// The state of one thread. Every call takes the time from [`Engine::at`].
///
/// # Examples
///
/// ```
/// use resilience::core::clock::Nanos;
/// use resilience::core::engine::Engine;
/// use resilience::core::gate::{Gate, concurrency::Concurrency};
/// use resilience::core::outcome::{Outcome, Outcomes};
/// use resilience::core::queue::Overflow;
/// use resilience::core::segment::Entry;
/// use resilience::core::timers::Driver;
///
/// let mut engine = Engine::default();
/// let one_at_a_time = Gate::Concurrency(Concurrency::new(1, 0, f64::INFINITY, Overflow::RejectNew));
/// let segment = engine.add_segment(vec![one_at_a_time])?;
///
/// engine.at(Nanos::from_ms(0.0), Driver::Wheel);
/// let Entry::Running(ticket) = engine.enter(segment, None)? else { panic!("a permit is free") };
/// assert!(matches!(engine.enter(segment, None)?, Entry::Refused(_)));
/// engine.exit(ticket, Outcomes::all(Outcome::Success))?;
/// assert!(matches!(engine.enter(segment, None)?, Entry::Running(_)));
/// # Ok::<(), resilience::core::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Engine {
    segments: Slab<Segment>,
    ledger: Ledger,
}

impl Engine {
    /// Sets the time of the calls that follow, and who watches the deadlines that they arm. The clock of
    /// [`Driver::Outside`] may be another one than the wheel's, and [`Engine::tick`] is by the wheel's.
    pub const fn at(&mut self, now: Nanos, driver: Driver) {
        self.ledger.newcomer = None;
        self.ledger.now = now;
        self.ledger.timers.driver = driver;
    }

    /// The time of the present call.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        self.ledger.now
    }

    /// Compiles `gates`, outermost first.
    ///
    /// # Errors
    ///
    /// [`Error::GateCount`] for none, or more than [`MAX_GATES`].
    pub fn add_segment(&mut self, gates: Vec<Gate>) -> Result<Key, Error> {
        if gates.is_empty() || gates.len() > MAX_GATES {
            return Err(Error::GateCount(gates.len()));
        }
        Ok(self.segments.insert(Segment::new(gates)))
    }

    /// Forgets a segment that no execution will use again.
    pub fn remove_segment(&mut self, segment: Key) {
        self.segments.remove(segment);
    }

    /// Starts an execution; see [`Segment::enter`].
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`].
    pub fn enter(&mut self, segment: Key, parameter: Option<f64>) -> Result<Entry, Error> {
        let gates = self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?;
        Ok(gates.enter(segment, parameter, &mut self.ledger))
    }

    /// Ends the execution that the present call let in, if any: after a panic its ticket reaches nobody.
    pub fn undo_entry(&mut self) {
        if let Some(ticket) = self.ledger.newcomer.take() {
            // Stale if it was refused.
            let _ = self.exit(ticket, Outcomes::all(Outcome::NoSample));
        }
    }

    /// Ends an execution, queued or running.
    ///
    /// # Errors
    ///
    /// [`Error::StaleTicket`] if it has ended.
    pub fn exit(&mut self, ticket: Key, outcomes: Outcomes) -> Result<(), Error> {
        let ticket = self.ledger.tickets.remove(ticket).ok_or(Error::StaleTicket)?;
        let segment = self.segments.get_mut(ticket.segment).ok_or(Error::UnknownSegment)?;
        segment.exit(&ticket, outcomes, &mut self.ledger);
        Ok(())
    }

    /// Notes that the first byte of an execution's answer has left: that is its latency, however long the rest
    /// takes.
    ///
    /// # Errors
    ///
    /// [`Error::StaleTicket`] if it has ended.
    pub fn mark(&mut self, ticket: Key) -> Result<(), Error> {
        let Ledger { now, tickets, .. } = &mut self.ledger;
        tickets.get_mut(ticket).ok_or(Error::StaleTicket)?.first_byte.get_or_insert(*now);
        Ok(())
    }

    /// Takes the answer of an algorithm outside the core to an [`Effect::Sampled`], and gives the exact limit
    /// that comes of it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`], [`Error::NotAdaptive`].
    pub fn apply_limit(
        &mut self,
        segment: Key,
        gate: usize,
        next: f64,
        sample: Sample,
        cuts: u32,
    ) -> Result<f64, Error> {
        let gates = self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?;
        let answer = (next, sample, cuts);
        gates.apply_limit(segment, gate, answer, &mut self.ledger).ok_or(Error::NotAdaptive(gate))
    }

    /// Fires the deadlines of the wheel that are due.
    pub fn tick(&mut self) {
        while let Some(alarm) = self.ledger.timers.pop(self.ledger.now) {
            self.fire(alarm);
        }
    }

    /// Fires the deadline behind an outside timer. One that was disarmed is left alone.
    pub fn expire(&mut self, timer: Key) {
        if let Some(alarm) = self.ledger.timers.expire(timer) {
            self.fire(alarm);
        }
    }

    fn fire(&mut self, alarm: Alarm) {
        let (Alarm::Deadline { ticket, .. } | Alarm::QueueTimeout { ticket }) = alarm;
        let Some(segment) = self.ledger.tickets.get(ticket).map(|ticket| ticket.segment) else { return };
        if let Some(gates) = self.segments.get_mut(segment) {
            gates.fire(alarm, &mut self.ledger);
        }
    }

    /// Turns the waiters of a segment away and disarms its deadlines.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`].
    pub fn dispose(&mut self, segment: Key) -> Result<(), Error> {
        let gates = self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?;
        gates.dispose(segment, &mut self.ledger);
        Ok(())
    }

    /// The permits of a limiter, to read.
    #[must_use]
    pub fn permits(&self, segment: Key, gate: usize) -> Option<&Concurrency> {
        self.segments.get(segment)?.gate(gate)?.permits()
    }

    /// The millisecond at which [`Engine::tick`] has work.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        self.ledger.timers.next_tick()
    }

    /// How many executions are open.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.ledger.tickets.len()
    }

    /// How many segments there are.
    #[must_use]
    pub const fn segments(&self) -> usize {
        self.segments.len()
    }

    /// What happened since it was last emptied, oldest first.
    pub const fn effects(&mut self) -> &mut VecDeque<Effect> {
        &mut self.ledger.effects
    }
}
