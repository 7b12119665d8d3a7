//! Things that will happen, by their moment.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug)]
struct Planned<T> {
    at: f64,
    order: u64,
    what: T,
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Planned<T> {}

/// A queue by moment; what was planned for the same one happens in the order it was planned.
#[derive(Debug)]
pub struct Plan<T> {
    queue: BinaryHeap<Reverse<Planned<T>>>,
    planned: u64,
}

impl<T> Default for Plan<T> {
    fn default() -> Self {
        Self { queue: BinaryHeap::new(), planned: 0 }
    }
}

impl<T> Plan<T> {
    /// Adds something.
    pub fn push(&mut self, at: f64, what: T) {
        self.queue.push(Reverse(Planned { at, order: self.planned, what }));
        self.planned += 1;
    }

    /// The next moment at which something happens.
    #[must_use]
    pub fn next(&self) -> Option<f64> {
        self.queue.peek().map(|Reverse(planned)| planned.at)
    }

    /// Takes out what happens then.
    pub fn pop(&mut self) -> Option<T> {
        self.queue.pop().map(|Reverse(planned)| planned.what)
    }

    /// How much is planned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
