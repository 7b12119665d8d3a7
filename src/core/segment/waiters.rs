//! How executions leave the queues of a segment's gates.

use super::{Ledger, Progress, Segment};
use crate::core::clock::Nanos;
use crate::core::effect::Effect;
use crate::core::gate::Gate;
use crate::core::gate::concurrency::Concurrency;
use crate::core::slab::Key;
use crate::core::ticket::{Hold, Place, Wait};
use crate::core::timers::Alarm;

impl Segment {
    /// Hands the free permits of the concurrency limiter at `index` to its waiters.
    pub(super) fn admit_waiters(&mut self, index: usize, ledger: &mut Ledger) {
        while let Some(key) = self.gates[index].permits_mut().and_then(Concurrency::next_waiter) {
            let hold = Hold::Permit { since: ledger.now, cuts: self.gates[index].cuts() };
            if !self.admit(key, hold, ledger) {
                // A panic undid its entry before it had noted its place.
                self.gates[index].permits_mut().map(Concurrency::release);
            }
        }
    }

    /// The first waiter of a rate limiter's key has its permit, and whoever else has one by now.
    pub(super) fn permit_due(&mut self, key: Key, ledger: &mut Ledger) {
        let Some(ticket) = ledger.tickets.get_mut(key) else { return };
        let (index, Some(Wait { place: Place::Rate(place), timer })) = (ticket.passed, &mut ticket.wait) else {
            return;
        };
        *timer = None;
        let slot = place.slot;
        // The timer is right where the clock is not: test tools replace the one and not the other.
        let due = match self.gates.get(index) {
            Some(Gate::RateLimiter(limiter)) => limiter.head(slot, ledger.now).map_or(ledger.now, |(_, due)| due),
            _ => return,
        };
        self.admit_due(index, slot, ledger.now.max(due), ledger);
    }

    /// Lets the waiters of a rate limiter's key in whose permits are due, the first of them at `now`.
    pub(super) fn admit_due(&mut self, index: usize, slot: u32, mut now: Nanos, ledger: &mut Ledger) {
        while let Some(Gate::RateLimiter(limiter)) = self.gates.get_mut(index)
            && let Some(next) = limiter.next_waiter(slot, now)
        {
            self.admit(next, Hold::Nothing, ledger);
            now = ledger.now;
        }
        self.watch_head(index, slot, ledger);
    }

    /// Lets a waiter through the gates that are left; false if it has gone.
    fn admit(&mut self, key: Key, hold: Hold, ledger: &mut Ledger) -> bool {
        let Some(ticket) = ledger.tickets.get_mut(key) else { return false };
        let timer = ticket.wait.take().and_then(|wait| wait.timer);
        if self.gates[ticket.passed].measures() {
            ticket.measure(ledger.now, &mut ledger.pauses);
        }
        ticket.pass(hold);
        ledger.disarm(timer);
        match self.proceed(key, None, ledger) {
            Progress::Through => ledger.effects.push_back(Effect::Admitted { ticket: key }),
            Progress::Queued => {}
            Progress::Stopped(refusal) => {
                ledger.close(key);
                ledger.effects.push_back(Effect::Rejected { ticket: key, refusal });
            }
        }
        true
    }

    /// Takes a waiter out of the queue of the gate at `index`.
    pub(super) fn leave_queue(&mut self, index: usize, Wait { place, timer }: Wait, ledger: &mut Ledger) {
        ledger.disarm(timer);
        match (self.gates.get_mut(index), place) {
            (Some(Gate::RateLimiter(limiter)), Place::Rate(place)) => {
                limiter.abandon(place);
                self.watch_head(index, place.slot, ledger);
            }
            (Some(gate), Place::Permit(rank)) => {
                if let Some(permits) = gate.permits_mut() {
                    permits.abandon(rank);
                }
            }
            _ => {}
        }
    }

    /// Watches for the permit of a key's first waiter, unless that is so already.
    fn watch_head(&self, index: usize, slot: u32, ledger: &mut Ledger) {
        let Some(Gate::RateLimiter(limiter)) = self.gates.get(index) else { return };
        let Some((key, due)) = limiter.head(slot, ledger.now) else { return };
        let unwatched = |wait: &Wait| wait.timer.is_none();
        if !ledger.tickets.get(key).and_then(|ticket| ticket.wait.as_ref()).is_some_and(unwatched) {
            return;
        }
        let timer = ledger.arm(due.ms_since(ledger.now), Alarm::PermitDue { ticket: key });
        if let Some(wait) = ledger.tickets.get_mut(key).and_then(|ticket| ticket.wait.as_mut()) {
            wait.timer = timer;
        }
    }
}
