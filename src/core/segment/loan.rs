//! Permits that the caller counts by itself while nobody waits for one.

use super::{Ledger, Segment};
use crate::core::gate::Gate;

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
}
