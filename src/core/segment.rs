//! A run of adjacent gates, passed and left as one.
//!
//! An execution passes the gates in order, outermost first, and leaves them in reverse. Each limiter that it
//! leaves hands its permit to the next waiter in the same step; that waiter goes on through the gates after it.
//!
//! A gate further in that turns an execution away does not end it: the gates outside still have to learn the
//! outcome. So from the first refusal or passed deadline on the execution is *closing*: out of every queue,
//! all deadlines disarmed, permits still held, until the caller's exit.

use std::collections::VecDeque;

use super::clock::Nanos;
use super::effect::{Effect, Reason, Refusal};
use super::gate::Gate;
use super::gate::circuit_breaker::{Change, Passage};
use super::gate::concurrency::Admission;
use super::gate::rate_limiter::Turn;
use super::outcome::{Outcome, Outcomes};
use super::pauses::Pauses;
use super::queue::Priority;
use super::slab::{Key, Slab};
use super::ticket::{Hold, Place, Ticket, Wait};
use super::timers::{Alarm, Driver, Timer, Timers};

mod limit;
mod loan;
mod waiters;

/// What all segments of a thread share.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The time of the present call.
    pub now: Nanos,
    /// The execution that the present call let in.
    pub newcomer: Option<Key>,
    /// Every open execution.
    pub tickets: Slab<Ticket>,
    /// Every armed deadline.
    pub timers: Timers,
    /// When the thread stood still.
    pub pauses: Pauses,
    /// What happened and was not taken yet.
    pub effects: VecDeque<Effect>,
}

impl Ledger {
    fn arm(&mut self, delay_ms: f64, alarm: Alarm) -> Option<Timer> {
        self.timers.arm(self.now, delay_ms, alarm, &mut self.effects)
    }

    fn disarm(&mut self, timer: Option<Timer>) {
        if let Some(timer) = timer {
            self.timers.disarm(timer, &mut self.effects);
        }
    }

    /// Milliseconds for which the thread stood still meanwhile, other than in the execution's own callback. A clock
    /// that is not the machine's has no pauses.
    fn paused_ms(&self, since: Nanos, until: Nanos, outcomes: Outcomes) -> f64 {
        match self.timers.driver {
            Driver::Wheel if !outcomes.at_once() => self.pauses.ms_between(since, until),
            _ => 0.0,
        }
    }

    /// Tells how an execution moved the circuit at a gate of a segment, if it did.
    fn tell_change(&mut self, (segment, gate, ticket): (Key, usize, Key), change: Option<Change>) -> bool {
        self.effects.extend(change.map(|change| match change {
            Change::Opened(opening) => Effect::CircuitOpened { segment, gate, ticket, opening },
            Change::Closed => Effect::CircuitClosed { segment, gate, ticket },
        }));
        change.is_some()
    }

    /// Disarms all that could still end an execution, which is in no queue any more.
    fn close(&mut self, key: Key) {
        let Some(ticket) = self.tickets.get_mut(key) else { return };
        if let Some(timer) = ticket.wait.take().and_then(|wait| wait.timer) {
            self.timers.disarm(timer, &mut self.effects);
        }
        for timer in ticket.take_deadlines() {
            self.timers.disarm(timer, &mut self.effects);
        }
    }
}

/// The answer to an execution that wants in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// Every gate is passed: run.
    Running(Key),
    /// Wait for [`Effect::Admitted`] or [`Effect::Rejected`].
    Waiting(Key),
    /// A gate turned it away, and none before that learns from it; there is no ticket.
    Refused(Refusal),
}

/// How far an execution came.
enum Progress {
    Through,
    Queued,
    Stopped(Refusal),
}

/// What one gate made of an execution.
enum Step {
    Passed(Hold),
    Queued,
    Stopped(Refusal),
}

/// Adjacent gates, compiled.
#[derive(Debug)]
pub struct Segment {
    gates: Vec<Gate>,
}

impl Segment {
    /// A segment of `gates`, outermost first.
    #[must_use]
    pub const fn new(gates: Vec<Gate>) -> Self {
        Self { gates }
    }

    /// The gate at `index`.
    #[must_use]
    pub fn gate(&self, index: usize) -> Option<&Gate> {
        self.gates.get(index)
    }

    /// The gate at `index`, to change.
    pub fn gate_mut(&mut self, index: usize) -> Option<&mut Gate> {
        self.gates.get_mut(index)
    }

    /// Starts an execution. `parameter` speaks to the first gate: the execution's priority at a concurrency
    /// limiter, its own timeout in milliseconds at a deadline, its key at a rate limiter, or a number below zero if it
    /// needs no permit of that.
    pub fn enter(&mut self, id: Key, parameter: Option<f64>, ledger: &mut Ledger) -> Entry {
        let key = ledger.tickets.insert(Ticket::new(id));
        ledger.newcomer = Some(key);
        match self.proceed(key, parameter, ledger) {
            Progress::Through => Entry::Running(key),
            Progress::Queued => Entry::Waiting(key),
            Progress::Stopped(refusal) if !self.gates[..refusal.gate].iter().any(Gate::learns) => {
                if let Some(ticket) = ledger.tickets.remove(key) {
                    self.exit(key, &ticket, Outcomes::all(Outcome::NoSample), ledger);
                }
                Entry::Refused(refusal)
            }
            Progress::Stopped(refusal) => {
                ledger.close(key);
                ledger.effects.push_back(Effect::Rejected { ticket: key, refusal });
                Entry::Waiting(key)
            }
        }
    }

    /// Takes an execution through the gates that it has not passed.
    fn proceed(&mut self, key: Key, mut parameter: Option<f64>, ledger: &mut Ledger) -> Progress {
        let Some((id, first)) = ledger.tickets.get(key).map(|ticket| (ticket.segment, ticket.passed)) else {
            return Progress::Queued;
        };
        for index in first..self.gates.len() {
            match self.pass(id, key, index, parameter.take(), ledger) {
                Step::Passed(hold) => {
                    if let Some(ticket) = ledger.tickets.get_mut(key) {
                        ticket.pass(hold);
                        if self.gates[index].measures() {
                            ticket.measure(ledger.now, &mut ledger.pauses);
                        }
                    }
                }
                Step::Queued => return Progress::Queued,
                Step::Stopped(refusal) => return Progress::Stopped(refusal),
            }
        }
        Progress::Through
    }

    /// Takes an execution to the gate at `index`.
    fn pass(&mut self, id: Key, key: Key, index: usize, parameter: Option<f64>, ledger: &mut Ledger) -> Step {
        let now = ledger.now;
        match &mut self.gates[index] {
            Gate::Deadline(deadline) => {
                let timeout_ms = parameter.unwrap_or(deadline.timeout_ms);
                let timer = ledger.arm(timeout_ms, Alarm::Deadline { ticket: key, gate: index });
                Step::Passed(Hold::Deadline { timer, due: now.plus_ms(timeout_ms) })
            }
            Gate::CircuitBreaker(breaker) => match breaker.enter(now) {
                Passage::Open { epoch, half_opened } => {
                    if half_opened {
                        ledger.effects.push_back(Effect::CircuitHalfOpened {
                            segment: id,
                            gate: index,
                            ticket: key,
                        });
                    }
                    Step::Passed(Hold::Circuit { since: now, epoch })
                }
                Passage::Broken { retry_after_ms } => {
                    Step::Stopped(self.refusal(index, Reason::Broken, Some(retry_after_ms)))
                }
                Passage::Isolated => Step::Stopped(self.refusal(index, Reason::Isolated, None)),
            },
            Gate::RateLimiter(_) if parameter.is_some_and(|key| key < 0.0) => Step::Passed(Hold::Nothing),
            Gate::RateLimiter(limiter) => {
                let rate_key = rate_key(parameter);
                if let Some(slot) = limiter.overdue(rate_key, now) {
                    self.admit_due(index, slot, now, ledger);
                }
                let Gate::RateLimiter(limiter) = &mut self.gates[index] else { return Step::Queued };
                let evictions = limiter.evictions();
                let turn = limiter.acquire(rate_key, key, now);
                if evictions == 0 && limiter.evictions() > 0 {
                    ledger.effects.push_back(Effect::KeyEvicted { segment: id, gate: index });
                }
                match turn {
                    Turn::Granted => Step::Passed(Hold::Nothing),
                    Turn::Queued { place, due } => {
                        let alarm = Alarm::PermitDue { ticket: key };
                        let timer = due.and_then(|due| ledger.arm(due.ms_since(now), alarm));
                        wait(key, Wait { place: Place::Rate(place), timer }, ledger);
                        Step::Queued
                    }
                    Turn::Refused { retry_at } => {
                        Step::Stopped(self.refusal(index, Reason::Full, Some(retry_at.ms_since(now))))
                    }
                }
            }
            gate @ (Gate::Concurrency(_) | Gate::Adaptive(_)) => {
                let cuts = gate.cuts();
                let priority = parameter.and_then(Priority::new).unwrap_or(Priority::DEFAULT);
                match gate.permits_mut().map(|permits| (permits.acquire(priority, key), permits.queue_timeout_ms))
                {
                    Some((Admission::Queued { rank, dropped }, timeout_ms)) => {
                        let timer = ledger.arm(timeout_ms, Alarm::QueueTimeout { ticket: key });
                        wait(key, Wait { place: Place::Permit(rank), timer }, ledger);
                        if let Some(dropped) = dropped {
                            self.reject(dropped, index, Reason::Dropped, ledger);
                        }
                        Step::Queued
                    }
                    Some((Admission::Refused, _)) => Step::Stopped(self.refusal(index, Reason::Full, None)),
                    Some((Admission::Granted, _)) | None => Step::Passed(Hold::Permit { since: now, cuts }),
                }
            }
        }
    }

    /// Ends the execution `key`, whose ticket was taken out: leaves the queue or the gates, innermost first.
    /// True if that moved a circuit.
    ///
    /// From here on only this call knows its permits, and a panic between would lose those further out. There
    /// is one place for that, broken invariants aside: a waiter let in arms its deadline while 2^26 are armed.
    pub fn exit(&mut self, key: Key, ticket: &Ticket, outcomes: Outcomes, ledger: &mut Ledger) -> bool {
        let mut moved = false;
        if let Some(wait) = ticket.wait {
            self.leave_queue(ticket.passed, wait, ledger);
        }
        for index in (0..ticket.passed).rev() {
            match ticket.holds[index] {
                Hold::Permit { since, cuts } => {
                    self.observe(ticket, index, (since, cuts), outcomes, ledger);
                    if let Some(permits) = self.gates[index].permits_mut() {
                        permits.release();
                    }
                    self.admit_waiters(index, ledger);
                }
                Hold::Circuit { since, epoch } => {
                    let Gate::CircuitBreaker(breaker) = &mut self.gates[index] else { continue };
                    let answered = ticket.first_byte.unwrap_or(ledger.now);
                    let since = since.plus_ms(ledger.paused_ms(since, answered, outcomes));
                    let change = breaker.leave(epoch, (since, answered, ledger.now), outcomes.of(index));
                    moved |= ledger.tell_change((ticket.segment, index, key), change);
                }
                Hold::Deadline { timer, .. } => ledger.disarm(timer),
                Hold::Nothing => {}
            }
        }
        moved
    }

    /// Acts on a deadline of an execution.
    pub fn fire(&mut self, alarm: Alarm, ledger: &mut Ledger) {
        match alarm {
            Alarm::Deadline { ticket: key, gate } => {
                let Some(ticket) = ledger.tickets.get_mut(key) else { return };
                let (passed, wait) = (ticket.passed, ticket.wait.take());
                if let Some(wait) = wait {
                    self.leave_queue(passed, wait, ledger);
                }
                ledger.close(key);
                ledger.effects.push_back(Effect::TimedOut { ticket: key, gate });
            }
            Alarm::QueueTimeout { ticket: key } => {
                let Some(ticket) = ledger.tickets.get_mut(key) else { return };
                let (index, Some(wait)) = (ticket.passed, ticket.wait.take()) else { return };
                self.leave_queue(index, wait, ledger);
                self.reject(key, index, Reason::QueueTimeout, ledger);
            }
            Alarm::PermitDue { ticket } => self.permit_due(ticket, ledger),
            Alarm::Sleep { .. } => {}
        }
    }

    /// Turns every waiter away and disarms every deadline. Executions that run go on.
    pub fn dispose(&mut self, id: Key, ledger: &mut Ledger) {
        for index in 0..self.gates.len() {
            while let Some(key) = self.gates[index].evict_waiter() {
                self.reject(key, index, Reason::Disposed, ledger);
            }
        }
        let own: Vec<Key> = ledger
            .tickets
            .keys()
            .filter(|key| ledger.tickets.get(*key).is_some_and(|ticket| ticket.segment == id))
            .collect();
        for key in own {
            ledger.close(key);
        }
    }

    /// Tells a waiter, already out of the queue of the gate at `index`, that it has to go.
    fn reject(&self, key: Key, index: usize, reason: Reason, ledger: &mut Ledger) {
        ledger.close(key);
        ledger.effects.push_back(Effect::Rejected { ticket: key, refusal: self.refusal(index, reason, None) });
    }

    fn refusal(&self, index: usize, reason: Reason, retry_after_ms: Option<f64>) -> Refusal {
        let active = self.gates[index].permits().map_or(0, super::gate::concurrency::Concurrency::in_flight);
        Refusal { gate: index, reason, active, queued: self.gates[index].queued(), retry_after_ms }
    }
}

/// Notes where an execution waits.
fn wait(key: Key, wait: Wait, ledger: &mut Ledger) {
    if let Some(ticket) = ledger.tickets.get_mut(key) {
        ticket.wait = Some(wait);
    }
}

/// The key of a rate limiter's permits; zero for an execution that states none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer below 2^53, by contract")]
const fn rate_key(parameter: Option<f64>) -> u64 {
    match parameter {
        Some(key) => key as u64,
        None => 0,
    }
}
