//! The executions that wait for a permit, in the order they will get one.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::slab::Key;

/// A waiter's importance: lower runs sooner. Never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priority(f64);

impl Priority {
    /// The importance of an execution that states none.
    pub const DEFAULT: Self = Self(0.0);

    /// `None` if `value` is NaN. Negative zero is zero.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Self(value + 0.0))
    }
}

impl Eq for Priority {}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A waiter's place: by priority, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    priority: Priority,
    arrival: u64,
}

/// What a full queue does with a newcomer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The newcomer is rejected.
    #[default]
    RejectNew,
    /// The longest waiter is rejected, and the newcomer queues.
    DropOldest,
    /// The newest waiter of the lowest priority is rejected if the newcomer outranks it, else the newcomer.
    DropLowestPriority,
}

/// Waiters by priority, first come first served within one. Every operation is O(log n).
#[derive(Debug, Default)]
pub struct WaiterQueue {
    waiters: BTreeMap<Rank, Key>,
    /// The priority of each waiter by arrival; kept only for [`Overflow::DropOldest`].
    arrivals: BTreeMap<u64, Priority>,
    overflow: Overflow,
    next_arrival: u64,
}

impl WaiterQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(overflow: Overflow) -> Self {
        Self { overflow, ..Self::default() }
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Queues `ticket` behind all of its priority.
    pub fn push(&mut self, priority: Priority, ticket: Key) -> Rank {
        let rank = Rank { priority, arrival: self.next_arrival };
        self.next_arrival += 1;
        self.waiters.insert(rank, ticket);
        if self.overflow == Overflow::DropOldest {
            self.arrivals.insert(rank.arrival, priority);
        }
        rank
    }

    /// The waiter whose turn it is.
    #[must_use]
    pub fn first(&self) -> Option<Key> {
        self.waiters.first_key_value().map(|(_, ticket)| *ticket)
    }

    /// Takes out the waiter whose turn it is.
    pub fn pop(&mut self) -> Option<Key> {
        let (rank, ticket) = self.waiters.pop_first()?;
        self.arrivals.remove(&rank.arrival);
        Some(ticket)
    }

    /// Takes out the waiter at `rank`.
    pub fn remove(&mut self, rank: Rank) -> Option<Key> {
        self.arrivals.remove(&rank.arrival);
        self.waiters.remove(&rank)
    }

    /// Takes out the waiter that makes room for a newcomer of `priority`; `None` if the newcomer has to go.
    pub fn make_room(&mut self, priority: Priority) -> Option<Key> {
        let victim = match self.overflow {
            Overflow::RejectNew => None,
            Overflow::DropOldest => {
                self.arrivals.first_key_value().map(|(&arrival, &priority)| Rank { priority, arrival })
            }
            Overflow::DropLowestPriority => {
                self.waiters.last_key_value().map(|(&rank, _)| rank).filter(|rank| rank.priority > priority)
            }
        };
        self.remove(victim?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slab::Slab;
    use super::*;

    fn priority(value: f64) -> Priority {
        Priority::new(value).expect("not NaN")
    }

    /// A queue of the given priorities, and the tickets in order of arrival.
    fn queue(overflow: Overflow, priorities: &[f64]) -> (WaiterQueue, Vec<Key>) {
        let (mut queue, mut slab) = (WaiterQueue::new(overflow), Slab::default());
        let tickets: Vec<_> = priorities.iter().map(|_| slab.insert(())).collect();
        for (value, ticket) in priorities.iter().zip(&tickets) {
            queue.push(priority(*value), *ticket);
        }
        (queue, tickets)
    }

    #[test]
    fn serves_by_priority_then_by_arrival() {
        let (mut queue, tickets) =
            queue(Overflow::RejectNew, &[5.0, 0.0, 5.0, f64::NEG_INFINITY, -0.0, f64::INFINITY]);
        let served: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(served, [3, 1, 4, 0, 2, 5].map(|n: usize| tickets[n]));
    }

    #[test]
    fn nan_is_no_priority() {
        assert_eq!(Priority::new(f64::NAN), None);
    }

    #[test]
    fn reject_new_never_makes_room() {
        let (mut queue, _) = queue(Overflow::RejectNew, &[9.0]);
        assert_eq!(queue.make_room(priority(0.0)), None);
    }

    #[test]
    fn drop_oldest_takes_the_longest_waiter_whatever_its_priority() {
        let (mut queue, tickets) = queue(Overflow::DropOldest, &[1.0, 0.0, 5.0]);
        assert_eq!(queue.pop(), Some(tickets[1]));
        assert_eq!(queue.make_room(priority(9.0)), Some(tickets[0]));
        assert_eq!(queue.make_room(priority(9.0)), Some(tickets[2]));
        assert_eq!(queue.make_room(priority(9.0)), None);
    }

    #[test]
    fn drop_lowest_priority_takes_the_newest_of_the_lowest_that_ranks_below() {
        let (mut queue, tickets) = queue(Overflow::DropLowestPriority, &[5.0, 9.0, 9.0, 1.0]);
        assert_eq!(queue.make_room(priority(9.0)), None);
        assert_eq!(queue.make_room(priority(8.0)), Some(tickets[2]));
        assert_eq!(queue.make_room(priority(8.0)), Some(tickets[1]));
        assert_eq!(queue.make_room(priority(5.0)), None);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn a_removed_waiter_is_not_served() {
        let mut slab = Slab::default();
        let mut queue = WaiterQueue::new(Overflow::DropOldest);
        let (first, second) = (slab.insert(()), slab.insert(()));
        let rank = queue.push(Priority::DEFAULT, first);
        queue.push(Priority::DEFAULT, second);
        assert_eq!(queue.remove(rank), Some(first));
        assert_eq!(queue.remove(rank), None);
        assert_eq!(queue.make_room(Priority::DEFAULT), Some(second));
    }
}
