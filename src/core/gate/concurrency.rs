//! A fixed number of permits, and a queue for those who come when all are taken.

use crate::core::queue::{Overflow, Priority, Rank, WaiterQueue};
use crate::core::slab::Key;

/// The answer to an execution that asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has one.
    Granted,
    /// It waits.
    Queued {
        /// Its place.
        rank: Rank,
        /// The waiter that was taken out of the queue to make room.
        dropped: Option<Key>,
    },
    /// It has to go.
    Refused,
}

/// Permits and their waiters.
///
/// Invariant: while anyone waits, `in_flight >= limit`, or a permit is being handed to the next waiter in the
/// same call. So a newcomer never overtakes a waiter.
#[derive(Debug)]
pub struct Concurrency {
    limit: u32,
    in_flight: u32,
    queue: WaiterQueue,
    queue_limit: usize,
    /// The longest wait in milliseconds; infinite for no limit.
    pub queue_timeout_ms: f64,
}

impl Concurrency {
    /// `limit` permits and room for `queue_limit` waiters.
    #[must_use]
    pub fn new(limit: u32, queue_limit: usize, queue_timeout_ms: f64, overflow: Overflow) -> Self {
        Self { limit, in_flight: 0, queue: WaiterQueue::new(overflow), queue_limit, queue_timeout_ms }
    }

    /// The number of permits.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Executions that hold a permit, and permits that are lent. More than the limit for a while after the limit has fallen.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Executions that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Moves the limit. Waiters are let in by [`Concurrency::next_waiter`]; nobody is interrupted.
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Asks for a permit.
    pub fn acquire(&mut self, priority: Priority, ticket: Key) -> Admission {
        if self.in_flight < self.limit && self.queue.is_empty() {
            self.in_flight += 1;
            return Admission::Granted;
        }
        let mut dropped = None;
        if self.queue.len() >= self.queue_limit {
            dropped = self.queue.make_room(priority);
            if dropped.is_none() {
                return Admission::Refused;
            }
        }
        Admission::Queued { rank: self.queue.push(priority, ticket), dropped }
    }

    /// Gives up to `most` of the free permits away, for which nobody waits, and tells how many.
    pub fn lend(&mut self, most: u32) -> u32 {
        let lent = if self.queue.is_empty() { self.limit.saturating_sub(self.in_flight).min(most) } else { 0 };
        self.in_flight += lent;
        lent
    }

    /// Gives a permit back.
    pub const fn release(&mut self) {
        self.in_flight -= 1;
    }

    /// Hands a free permit to the waiter whose turn it is.
    pub fn next_waiter(&mut self) -> Option<Key> {
        if self.in_flight >= self.limit {
            return None;
        }
        let ticket = self.queue.pop()?;
        self.in_flight += 1;
        Some(ticket)
    }

    /// Takes a waiter out of the queue.
    pub fn abandon(&mut self, rank: Rank) {
        self.queue.remove(rank);
    }

    /// Takes any waiter out of the queue, in order of turn.
    pub fn evict(&mut self) -> Option<Key> {
        self.queue.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::slab::Slab;

    fn ask(gate: &mut Concurrency, slab: &mut Slab<()>) -> (Key, Admission) {
        let ticket = slab.insert(());
        (ticket, gate.acquire(Priority::DEFAULT, ticket))
    }

    #[test]
    fn runs_up_to_the_limit_then_queues_then_refuses() {
        let (mut gate, mut slab) = (Concurrency::new(1, 1, f64::INFINITY, Overflow::RejectNew), Slab::default());
        assert_eq!(ask(&mut gate, &mut slab).1, Admission::Granted);
        assert!(matches!(ask(&mut gate, &mut slab).1, Admission::Queued { dropped: None, .. }));
        assert_eq!(ask(&mut gate, &mut slab).1, Admission::Refused);
        assert_eq!((gate.in_flight(), gate.queued()), (1, 1));
    }

    #[test]
    fn a_lowered_limit_admits_nobody_until_in_flight_is_below_it() {
        let (mut gate, mut slab) = (Concurrency::new(3, 9, f64::INFINITY, Overflow::RejectNew), Slab::default());
        for _ in 0..3 {
            ask(&mut gate, &mut slab);
        }
        let (waiter, _) = ask(&mut gate, &mut slab);
        gate.set_limit(1);
        for _ in 0..2 {
            gate.release();
            assert_eq!(gate.next_waiter(), None);
        }
        assert_eq!(gate.queued(), 1);
        gate.release();
        assert_eq!(gate.next_waiter(), Some(waiter));
    }

    #[test]
    fn drop_oldest_without_a_queue_refuses_the_newcomer() {
        let (mut gate, mut slab) = (Concurrency::new(1, 0, f64::INFINITY, Overflow::DropOldest), Slab::default());
        ask(&mut gate, &mut slab);
        assert_eq!(ask(&mut gate, &mut slab).1, Admission::Refused);
    }
}
