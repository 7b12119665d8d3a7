//! The executions that wait for a permit of one key, first come first served.

use crate::core::queue::{Overflow, Priority, Rank, WaiterQueue};
use crate::core::slab::Key;

/// At least one waiter.
#[derive(Debug)]
pub struct Waiters {
    /// The one whose turn is next.
    head: Key,
    others: WaiterQueue,
}

impl Waiters {
    /// A queue of one.
    pub fn new(ticket: Key) -> (Self, Rank) {
        let mut others = WaiterQueue::new(Overflow::RejectNew);
        let rank = others.push(Priority::DEFAULT, ticket);
        others.pop();
        (Self { head: ticket, others }, rank)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// The one whose turn is next.
    pub const fn head(&self) -> Key {
        self.head
    }

    /// Queues `ticket` behind the others.
    pub fn push(&mut self, ticket: Key) -> Rank {
        self.others.push(Priority::DEFAULT, ticket)
    }

    /// Takes the head out; false if it was the only one, and the queue has to go.
    pub fn advance(&mut self) -> bool {
        let next = self.others.pop();
        self.head = next.unwrap_or(self.head);
        next.is_some()
    }

    /// Takes out the waiter at `rank`; false if it was the only one, and the queue has to go.
    pub fn remove(&mut self, rank: Rank) -> bool {
        self.others.remove(rank).is_some() || self.advance()
    }
}
