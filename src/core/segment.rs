//! A run of adjacent gates, passed and left as one.
//!
//! An execution passes the gates in order, outermost first, and leaves them in reverse. Each limiter that it
//! leaves hands its permit to the next waiter in the same step; that waiter goes on through the gates after it.
//!
//! A gate further in that turns an execution away does not end it: the gates outside still have to learn the
//! outcome. So from the first refusal or passed deadline on the execution is *closing*: out of every queue,
//! all deadlines disarmed, permits still held, until the caller's exit.

use std::collections::VecDeque;

use super::algorithm::Sample;
use super::clock::Nanos;
use super::effect::{Effect, Reason, Refusal};
use super::gate::Gate;
use super::gate::adaptive::Observed;
use super::gate::concurrency::{Admission, Concurrency};
use super::outcome::{Outcome, Outcomes};
use super::queue::{Priority, Rank};
use super::slab::{Key, Slab};
use super::ticket::{Hold, Ticket, Wait};
use super::timers::{Alarm, Timers};

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
    /// What happened and was not taken yet.
    pub effects: VecDeque<Effect>,
}

/// The answer to an execution that wants in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Every gate is passed: run.
    Running(Key),
    /// Wait for [`Effect::Admitted`] or [`Effect::Rejected`].
    Waiting(Key),
    /// The first gate turned it away; there is no ticket.
    Refused(Refusal),
}

/// How far an execution came.
enum Progress {
    Through,
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

    /// Starts an execution. `parameter` speaks to the first gate: the execution's priority at a limiter, its
    /// own timeout in milliseconds at a deadline.
    pub fn enter(&mut self, id: Key, parameter: Option<f64>, ledger: &mut Ledger) -> Entry {
        let key = ledger.tickets.insert(Ticket::new(id));
        ledger.newcomer = Some(key);
        match self.proceed(key, parameter, ledger) {
            Progress::Through => Entry::Running(key),
            Progress::Queued => Entry::Waiting(key),
            Progress::Stopped(refusal) if refusal.gate == 0 => {
                ledger.tickets.remove(key);
                Entry::Refused(refusal)
            }
            Progress::Stopped(refusal) => {
                close(key, ledger);
                ledger.effects.push_back(Effect::Rejected { ticket: key, refusal });
                Entry::Waiting(key)
            }
        }
    }

    /// Takes an execution through the gates that it has not passed.
    fn proceed(&mut self, key: Key, mut parameter: Option<f64>, ledger: &mut Ledger) -> Progress {
        let Some(first) = ledger.tickets.get(key).map(|ticket| ticket.passed) else { return Progress::Queued };
        for index in first..self.gates.len() {
            let parameter = parameter.take();
            let hold = match &mut self.gates[index] {
                Gate::Deadline(deadline) => {
                    let timeout_ms = parameter.unwrap_or(deadline.timeout_ms);
                    let alarm = Alarm::Deadline { ticket: key, gate: index };
                    Hold::Deadline(ledger.timers.arm(ledger.now, timeout_ms, alarm, &mut ledger.effects))
                }
                gate => {
                    let priority = parameter.and_then(Priority::new).unwrap_or(Priority::DEFAULT);
                    match gate.permits_mut().map(|permits| permits.acquire(priority, key)) {
                        Some(Admission::Queued { rank, dropped }) => {
                            self.queue(key, index, rank, ledger);
                            if let Some(dropped) = dropped {
                                self.reject(dropped, index, Reason::Dropped, ledger);
                            }
                            return Progress::Queued;
                        }
                        Some(Admission::Refused) => return Progress::Stopped(self.refusal(index, Reason::Full)),
                        Some(Admission::Granted) | None => Hold::Permit { since: ledger.now, cuts: gate.cuts() },
                    }
                }
            };
            if let Some(ticket) = ledger.tickets.get_mut(key) {
                ticket.pass(hold);
            }
        }
        Progress::Through
    }

    /// Notes a place in the queue of the limiter at `index` and arms its timeout.
    fn queue(&self, key: Key, index: usize, rank: Rank, ledger: &mut Ledger) {
        let Some(permits) = self.gates[index].permits() else { return };
        let alarm = Alarm::QueueTimeout { ticket: key };
        let timer = ledger.timers.arm(ledger.now, permits.queue_timeout_ms, alarm, &mut ledger.effects);
        if let Some(ticket) = ledger.tickets.get_mut(key) {
            ticket.wait = Some(Wait { rank, timer });
        }
    }

    /// Ends an execution whose ticket was taken out: leaves the queue or the gates, innermost first.
    ///
    /// From here on only this call knows its permits, and a panic between would lose those further out. There
    /// is one place for that, broken invariants aside: a waiter let in arms its deadline while 2^26 are armed.
    pub fn exit(&mut self, ticket: &Ticket, outcomes: Outcomes, ledger: &mut Ledger) {
        if let Some(Wait { rank, timer }) = ticket.wait {
            if let Some(permits) = self.gates[ticket.passed].permits_mut() {
                permits.abandon(rank);
            }
            if let Some(timer) = timer {
                ledger.timers.disarm(timer, &mut ledger.effects);
            }
        }
        for index in (0..ticket.passed).rev() {
            match ticket.holds[index] {
                Hold::Permit { since, cuts } => {
                    self.observe(ticket, index, (since, cuts), outcomes.of(index), ledger);
                    if let Some(permits) = self.gates[index].permits_mut() {
                        permits.release();
                    }
                    self.admit_waiters(index, ledger);
                }
                Hold::Deadline(Some(timer)) => ledger.timers.disarm(timer, &mut ledger.effects),
                Hold::Deadline(None) => {}
            }
        }
    }

    /// Feeds an adaptive limiter.
    fn observe(
        &mut self,
        ticket: &Ticket,
        index: usize,
        (since, cuts): (Nanos, u32),
        outcome: Outcome,
        ledger: &mut Ledger,
    ) {
        let Gate::Adaptive(adaptive) = &mut self.gates[index] else { return };
        if outcome == Outcome::NoSample {
            return;
        }
        let sample = Sample {
            rtt_ms: ticket.first_byte.unwrap_or(ledger.now).ms_since(since),
            inflight: adaptive.permits.in_flight(),
            dropped: outcome == Outcome::Drop,
            limit: adaptive.exact_limit(),
        };
        let segment = ticket.segment;
        match adaptive.observe(sample, cuts) {
            Observed::Same => {}
            Observed::Moved { old, new } => {
                ledger.effects.push_back(Effect::LimitChanged { segment, gate: index, old, new, sample });
            }
            Observed::Pending => {
                ledger.effects.push_back(Effect::Sampled { segment, gate: index, sample, cuts });
            }
        }
    }

    /// Takes the answer of an algorithm outside the core, and gives the exact limit that comes of it; `None` if
    /// there is no adaptive limiter at `index`.
    pub fn apply_limit(
        &mut self,
        id: Key,
        index: usize,
        (next, sample, cuts): (f64, Sample, u32),
        ledger: &mut Ledger,
    ) -> Option<f64> {
        let Some(Gate::Adaptive(adaptive)) = self.gates.get_mut(index) else { return None };
        let observed = adaptive.apply(next, sample, cuts);
        let limit = adaptive.exact_limit();
        if let Observed::Moved { old, new } = observed {
            ledger.effects.push_back(Effect::LimitChanged { segment: id, gate: index, old, new, sample });
            self.admit_waiters(index, ledger);
        }
        Some(limit)
    }

    /// Hands the free permits of the limiter at `index` to its waiters.
    fn admit_waiters(&mut self, index: usize, ledger: &mut Ledger) {
        while let Some(key) = self.gates[index].permits_mut().and_then(Concurrency::next_waiter) {
            let cuts = self.gates[index].cuts();
            let Some(ticket) = ledger.tickets.get_mut(key) else {
                // A panic undid its entry before it had noted its place.
                self.gates[index].permits_mut().map(Concurrency::release);
                continue;
            };
            let timer = ticket.wait.take().and_then(|wait| wait.timer);
            ticket.pass(Hold::Permit { since: ledger.now, cuts });
            if let Some(timer) = timer {
                ledger.timers.disarm(timer, &mut ledger.effects);
            }
            match self.proceed(key, None, ledger) {
                Progress::Through => ledger.effects.push_back(Effect::Admitted { ticket: key }),
                Progress::Queued => {}
                Progress::Stopped(refusal) => {
                    close(key, ledger);
                    ledger.effects.push_back(Effect::Rejected { ticket: key, refusal });
                }
            }
        }
    }

    /// Acts on a deadline of the execution `key`.
    pub fn fire(&mut self, alarm: Alarm, ledger: &mut Ledger) {
        match alarm {
            Alarm::Deadline { ticket: key, gate } => {
                let Some(ticket) = ledger.tickets.get_mut(key) else { return };
                let (passed, wait) = (ticket.passed, ticket.wait.take());
                if let (Some(wait), Some(permits)) = (wait, self.gates.get_mut(passed).and_then(Gate::permits_mut))
                {
                    permits.abandon(wait.rank);
                    if let Some(timer) = wait.timer {
                        ledger.timers.disarm(timer, &mut ledger.effects);
                    }
                }
                close(key, ledger);
                ledger.effects.push_back(Effect::TimedOut { ticket: key, gate });
            }
            Alarm::QueueTimeout { ticket: key } => {
                let Some(ticket) = ledger.tickets.get(key) else { return };
                let (index, Some(wait)) = (ticket.passed, ticket.wait) else { return };
                if let Some(permits) = self.gates[index].permits_mut() {
                    permits.abandon(wait.rank);
                }
                self.reject(key, index, Reason::QueueTimeout, ledger);
            }
        }
    }

    /// Turns every waiter away and disarms every deadline. Executions that run go on.
    pub fn dispose(&mut self, id: Key, ledger: &mut Ledger) {
        for index in 0..self.gates.len() {
            while let Some(key) = self.gates[index].permits_mut().and_then(Concurrency::evict) {
                self.reject(key, index, Reason::Disposed, ledger);
            }
        }
        let own: Vec<Key> = ledger
            .tickets
            .keys()
            .filter(|key| ledger.tickets.get(*key).is_some_and(|ticket| ticket.segment == id))
            .collect();
        for key in own {
            close(key, ledger);
        }
    }

    /// Tells a waiter, already out of the queue of the limiter at `index`, that it has to go.
    fn reject(&self, key: Key, index: usize, reason: Reason, ledger: &mut Ledger) {
        close(key, ledger);
        ledger.effects.push_back(Effect::Rejected { ticket: key, refusal: self.refusal(index, reason) });
    }

    fn refusal(&self, index: usize, reason: Reason) -> Refusal {
        let (active, queued) =
            self.gates[index].permits().map_or((0, 0), |permits| (permits.in_flight(), permits.queued()));
        Refusal { gate: index, reason, active, queued }
    }
}

/// Disarms all that could still end an execution, which is in no queue any more.
fn close(key: Key, ledger: &mut Ledger) {
    let Some(ticket) = ledger.tickets.get_mut(key) else { return };
    if let Some(timer) = ticket.wait.take().and_then(|wait| wait.timer) {
        ledger.timers.disarm(timer, &mut ledger.effects);
    }
    for timer in ticket.take_deadlines() {
        ledger.timers.disarm(timer, &mut ledger.effects);
    }
}
