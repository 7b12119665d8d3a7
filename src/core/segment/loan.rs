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

#[cfg(test)]
mod tests {
    use crate::core::clock::Nanos;
    use crate::core::engine::Engine;
    use crate::core::gate::Gate;
    use crate::core::gate::concurrency::Concurrency;
    use crate::core::gate::deadline::Deadline;
    use crate::core::queue::Overflow;
    use crate::core::segment::Entry;
    use crate::core::timers::Driver;

    fn limiter(permits: u32) -> Gate {
        Gate::Concurrency(Concurrency::new(permits, 9, f64::INFINITY, Overflow::RejectNew))
    }

    #[test]
    fn a_lent_permit_that_comes_back_goes_to_the_first_waiter() {
        let mut engine = Engine::default();
        engine.at(Nanos::default(), Driver::Wheel);
        let segment = engine.add_segment(vec![limiter(2)]).expect("one gate");
        assert_eq!(engine.lend(segment, u32::MAX), 2);
        assert_eq!(engine.lend(segment, u32::MAX), 0);
        for _ in 0..2 {
            assert!(matches!(engine.enter(segment, None), Ok(Entry::Waiting(_))));
        }
        assert_eq!(engine.give_back(segment).ok(), Some(true));
        assert_eq!((engine.effects().len(), engine.queued(segment, 0)), (1, 1));
        assert_eq!(engine.lend(segment, u32::MAX), 0, "nobody overtakes a waiter");
        assert_eq!(engine.give_back(segment).ok(), Some(false));
        assert_eq!(engine.permits(segment, 0).map(Concurrency::in_flight), Some(2));
    }

    #[test]
    fn a_loan_is_undone_when_nobody_learns_of_it() {
        let mut engine = Engine::default();
        engine.at(Nanos::default(), Driver::Wheel);
        let segment = engine.add_segment(vec![limiter(3)]).expect("one gate");
        assert_eq!(engine.lend(segment, 2), 2);
        engine.undo_entry();
        assert_eq!(engine.permits(segment, 0).map(Concurrency::in_flight), Some(0));
    }

    #[test]
    fn beside_another_gate_nothing_is_lent() {
        let mut engine = Engine::default();
        let gates = vec![limiter(2), Gate::Deadline(Deadline { timeout_ms: 5.0 })];
        let segment = engine.add_segment(gates).expect("two gates");
        assert_eq!(engine.lend(segment, u32::MAX), 0);
    }
}
