//! All segments, executions and deadlines of one thread.

use std::collections::VecDeque;

use super::algorithm::Sample;
use super::clock::Nanos;
use super::effect::Effect;
use super::error::Error;
use super::gate::Gate;
use super::gate::circuit_breaker::CircuitBreaker;
use super::gate::concurrency::Concurrency;
use super::gate::rate_limiter::RateLimiter;
use super::outcome::{Outcome, Outcomes};
use super::segment::{Entry, Ledger, Segment};
use super::slab::{Key, Slab};
use super::ticket::MAX_GATES;
use super::timers::{Alarm, Driver, Timer};

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
    sleeps: Slab<Option<Timer>>,
    /// The sleep that the present call began.
    new_sleep: Option<Key>,
    /// The permits that the present call lent.
    new_loan: Option<(Key, u32)>,
    ledger: Ledger,
}

impl Engine {
    /// Sets the time of the calls that follow, and who watches the deadlines that they arm. The clock of
    /// [`Driver::Outside`] may be another one than the wheel's, and [`Engine::tick`] is by the wheel's.
    pub fn at(&mut self, now: Nanos, driver: Driver) {
        self.ledger.newcomer = None;
        self.new_sleep = None;
        self.new_loan = None;
        self.ledger.now = now;
        self.ledger.timers.driver = driver;
        match driver {
            Driver::Wheel => self.ledger.pauses.look(now),
            Driver::Outside => self.ledger.pauses.look_away(),
        }
    }

    /// From now on there is a call when [`Engine::next_look`] is due, so that pauses of the thread are seen.
    pub const fn watch_pauses(&mut self) {
        self.ledger.pauses.watch();
    }

    /// When a call is due, whatever it is about.
    #[must_use]
    pub const fn next_look(&self) -> Option<Nanos> {
        self.ledger.pauses.due()
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

    /// Lends all free permits of a segment that is a fixed concurrency limiter alone, up to `most`, and gives their
    /// number; zero for any other segment. The caller lets executions in with them at its own will, one a permit,
    /// as long as nobody waits. From then on each permit that is free goes back by [`Engine::give_back`].
    pub fn lend(&mut self, segment: Key, most: u32) -> u32 {
        let lent = self.segments.get_mut(segment).map_or(0, |gates| gates.lend(most));
        self.new_loan = (lent > 0).then_some((segment, lent));
        lent
    }

    /// Takes a lent permit back, and lets a waiter in with it. True if somebody still waits.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`].
    pub fn give_back(&mut self, segment: Key) -> Result<bool, Error> {
        let gates = self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?;
        Ok(gates.give_back(1, &mut self.ledger))
    }

    /// The epoch of a circuit breaker that is alone in its segment, closed, and watches for no slow calls: as long as
    /// it lasts, executions may run without [`Engine::enter`] and end by [`Engine::leave`].
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`].
    pub fn closed_epoch(&self, segment: Key) -> Result<Option<u64>, Error> {
        Ok(self.segments.get(segment).ok_or(Error::UnknownSegment)?.closed_epoch())
    }

    /// Ends an execution that ran in an epoch of a closed circuit without a ticket; `name` is its key in effects.
    /// True if that moved the circuit.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`].
    pub fn leave(&mut self, segment: Key, epoch: u64, outcome: Outcome, name: Key) -> Result<bool, Error> {
        let gates = self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?;
        Ok(gates.leave((segment, name), epoch, outcome, &mut self.ledger))
    }

    /// Ends the execution that the present call let in, or the sleep that it began, and takes the permits back that
    /// it lent: after a panic its answer reaches nobody.
    pub fn undo_entry(&mut self) {
        if let Some((segment, lent)) = self.new_loan.take()
            && let Some(gates) = self.segments.get_mut(segment)
        {
            gates.give_back(lent, &mut self.ledger);
        }
        if let Some(sleep) = self.new_sleep.take() {
            self.wake(sleep);
        }
        if let Some(ticket) = self.ledger.newcomer.take() {
            // Stale if it was refused.
            let _ = self.exit(ticket, Outcomes::all(Outcome::NoSample));
        }
    }

    /// Ends an execution, queued or running. True if that moved a circuit.
    ///
    /// # Errors
    ///
    /// [`Error::StaleTicket`] if it has ended.
    pub fn exit(&mut self, key: Key, outcomes: Outcomes) -> Result<bool, Error> {
        let mut ticket = self.ledger.tickets.remove(key).ok_or(Error::StaleTicket)?;
        ticket.stop_measuring(&mut self.ledger.pauses);
        let segment = self.segments.get_mut(ticket.segment).ok_or(Error::UnknownSegment)?;
        Ok(segment.exit(key, &ticket, outcomes, &mut self.ledger))
    }

    /// Notes that the first byte of an execution's answer has left: that is its latency, however long the rest
    /// takes.
    ///
    /// # Errors
    ///
    /// [`Error::StaleTicket`] if it has ended.
    pub fn mark(&mut self, ticket: Key) -> Result<(), Error> {
        let Ledger { now, tickets, pauses, .. } = &mut self.ledger;
        let ticket = tickets.get_mut(ticket).ok_or(Error::StaleTicket)?;
        if ticket.first_byte.is_none() {
            ticket.first_byte = Some(*now);
            ticket.stop_measuring(pauses);
        }
        Ok(())
    }

    /// Milliseconds until the first deadline of an execution passes; `None` if none is armed.
    ///
    /// # Errors
    ///
    /// [`Error::StaleTicket`] if it has ended.
    pub fn remaining_ms(&self, ticket: Key) -> Result<Option<f64>, Error> {
        let Ledger { now, tickets, .. } = &self.ledger;
        let due = tickets.get(ticket).ok_or(Error::StaleTicket)?.next_due();
        Ok(due.map(|due| due.ms_since(*now)))
    }

    /// Takes the answer of an algorithm outside the core to an [`Effect::Sampled`], and gives the exact limit
    /// that comes of it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`], [`Error::WrongGate`].
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
        gates.apply_limit(segment, gate, answer, &mut self.ledger).ok_or(Error::WrongGate(gate))
    }

    /// Fires the deadlines of the wheel that are due.
    pub fn tick(&mut self) {
        self.tick_until(self.ledger.now);
    }

    /// Fires the deadlines of the wheel that were due at `due`, a time before the present one.
    pub fn tick_until(&mut self, due: Nanos) {
        while let Some(alarm) = self.ledger.timers.pop(due) {
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
        let ticket = match alarm {
            Alarm::Deadline { ticket, .. } | Alarm::QueueTimeout { ticket } | Alarm::PermitDue { ticket } => {
                ticket
            }
            Alarm::Sleep { sleep } => {
                self.sleeps.remove(sleep);
                self.ledger.effects.push_back(Effect::Woken { sleep });
                return;
            }
        };
        let Some(segment) = self.ledger.tickets.get(ticket).map(|ticket| ticket.segment) else { return };
        if let Some(gates) = self.segments.get_mut(segment) {
            gates.fire(alarm, &mut self.ledger);
        }
    }

    /// Begins a sleep of `delay_ms`, which [`Effect::Woken`] ends.
    pub fn sleep(&mut self, delay_ms: f64) -> Key {
        let sleep = self.sleeps.insert(None);
        self.new_sleep = Some(sleep);
        let Ledger { now, timers, effects, .. } = &mut self.ledger;
        let timer = timers.arm(*now, delay_ms, Alarm::Sleep { sleep }, effects);
        if let Some(place) = self.sleeps.get_mut(sleep) {
            *place = timer;
        }
        sleep
    }

    /// Ends a sleep before its time. One that is over is left alone.
    pub fn wake(&mut self, sleep: Key) {
        if let Some(Some(timer)) = self.sleeps.remove(sleep) {
            self.ledger.timers.disarm(timer, &mut self.ledger.effects);
        }
    }

    /// The circuit breaker at `gate` of a segment.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`], [`Error::WrongGate`].
    pub fn circuit_breaker(&mut self, segment: Key, gate: usize) -> Result<&mut CircuitBreaker, Error> {
        match self.segments.get_mut(segment).ok_or(Error::UnknownSegment)?.gate_mut(gate) {
            Some(Gate::CircuitBreaker(breaker)) => Ok(breaker),
            _ => Err(Error::WrongGate(gate)),
        }
    }

    /// The rate limiter at `gate` of a segment.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownSegment`], [`Error::WrongGate`].
    pub fn rate_limiter(&self, segment: Key, gate: usize) -> Result<&RateLimiter, Error> {
        match self.segments.get(segment).ok_or(Error::UnknownSegment)?.gate(gate) {
            Some(Gate::RateLimiter(limiter)) => Ok(limiter),
            _ => Err(Error::WrongGate(gate)),
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

    /// Executions that wait at a gate.
    #[must_use]
    pub fn queued(&self, segment: Key, gate: usize) -> usize {
        self.segments.get(segment).and_then(|gates| gates.gate(gate)).map_or(0, Gate::queued)
    }

    /// The permits of a concurrency limiter, to read.
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

    /// How many sleeps are not over.
    #[must_use]
    pub const fn sleeping(&self) -> usize {
        self.sleeps.len()
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
