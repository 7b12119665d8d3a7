//! What the caller decides by itself for a while: permits that nobody waits for, and the way through a closed
//! circuit.

use super::{Ledger, Segment};
use crate::core::gate::Gate;
use crate::core::outcome::Outcome;
use crate::core::slab::Key;

impl Segment {
    /// Lends up to `most` of the free permits, if a fixed concurrency limiter is all there is; gives their number.
    pub fn lend(&mut self, most: u32) -> u32 {
        match &mut self.gates[..] {
            [Gate::Concurrency(permits)] => permits.lend(most),
            _ => 0,
        }
    }

    /// Takes lent permits back, and lets waiters in with them. True if somebody still waits.
    pub fn give_back(&mut self, lent: u32, ledger: &mut Ledger) -> bool {
        let [Gate::Concurrency(permits)] = &mut self.gates[..] else { return false };
        for _ in 0..lent {
            permits.release();
        }
        self.admit_waiters(0, ledger);
        self.gates[0].queued() > 0
    }

    /// The epoch of a closed circuit, if a breaker that watches for no slow calls is all there is.
    #[must_use]
    pub fn closed_epoch(&self) -> Option<u64> {
        match &self.gates[..] {
            [Gate::CircuitBreaker(breaker)] => breaker.closed_epoch(),
            _ => None,
        }
    }

    /// Counts an execution that ran in an epoch of the closed circuit. True if that moved the circuit.
    pub fn leave(&mut self, (id, name): (Key, Key), epoch: u64, outcome: Outcome, ledger: &mut Ledger) -> bool {
        let [Gate::CircuitBreaker(breaker)] = &mut self.gates[..] else { return false };
        let now = ledger.now;
        let change = breaker.leave(epoch, (now, now, now), outcome);
        ledger.tell_change((id, 0, name), change)
    }
}
