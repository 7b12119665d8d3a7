//! So many permits in a window of time for each key, and a queue for those who come when all are taken.
//!
//! A permit is never given back: it comes back when its time is over, by one of three rules. What is remembered
//! of a key is bounded in size, and so is the number of keys: when the table is full, the least recently used
//! key is forgotten, idle keys first. A key whose permits are all taken then lasts for a while in a smaller table, and
//! one for which someone waits is never forgotten.

mod fixed_window;
mod held;
mod keys;
mod schedule;
mod sliding_window;
mod spread;
mod token_bucket;

use std::collections::BTreeMap;

use crate::core::clock::Nanos;
use crate::core::queue::{Priority, Rank, WaiterQueue};
use crate::core::slab::Key;
use fixed_window::FixedWindow;
use keys::Keys;
use sliding_window::SlidingWindow;
use token_bucket::TokenBucket;

const MOST_KEYS: usize = (1 << 26) - 1;

/// When permits come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All at once, at the end of a window that begins with its first permit.
    FixedWindow,
    /// Each one a window after it was taken. Exact up to 16 permits a window; above that up to a fifteenth of
    /// the window late, and never early.
    SlidingWindow,
    /// Steadily, into a bucket that is full at the start.
    TokenBucket {
        /// How many it holds.
        burst: u32,
    },
}

/// The place of a waiter, until it is let in or taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its key's.
    pub slot: u32,
    /// Its own, among the waiters of its key.
    pub rank: Rank,
}

/// The answer to an execution that asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has one.
    Granted,
    /// It waits.
    Queued {
        /// Its place.
        place: Place,
        /// When its permit is due, if it is the only waiter of its key.
        due: Option<Nanos>,
    },
    /// It has to go.
    Refused {
        /// The first moment at which it would not have to go, if nobody else comes before.
        retry_at: Nanos,
    },
}

#[derive(Debug)]
enum Table {
    FixedWindow(Keys<FixedWindow>),
    SlidingWindow(Keys<SlidingWindow>),
    TokenBucket(Keys<TokenBucket>),
}

/// Evaluates an expression over the keys of a table, whatever its rule.
macro_rules! with {
    ($table:expr, $keys:ident => $value:expr) => {
        match $table {
            Table::FixedWindow($keys) => $value,
            Table::SlidingWindow($keys) => $value,
            Table::TokenBucket($keys) => $value,
        }
    };
}

/// Permits by key, and their waiters.
///
/// Invariant: a key is pinned in the table exactly while it has waiters. So a newcomer never overtakes one.
#[derive(Debug)]
pub struct RateLimiter {
    table: Table,
    window: u64,
    /// The waiters of each key, by its slot.
    waiters: BTreeMap<u32, WaiterQueue>,
    queued: usize,
    queue_limit: usize,
}

impl RateLimiter {
    /// `permits` in each window, for each of at most `max_keys` keys, and room for `queue_limit` waiters a key.
    ///
    /// A zero among the others is taken as the least there is: one permit, one nanosecond, a burst of one, one
    /// key. There are never more than 2^26 - 1 keys.
    #[must_use]
    pub fn new(rule: Rule, permits: u32, window_ms: f64, max_keys: usize, queue_limit: usize) -> Self {
        let (permits, max_keys) = (permits.max(1), max_keys.clamp(1, MOST_KEYS));
        let window = Nanos::from_ms(window_ms).get().max(1);
        let table = match rule {
            Rule::FixedWindow => Table::FixedWindow(Keys::new(FixedWindow::new(permits, window), max_keys)),
            Rule::SlidingWindow => Table::SlidingWindow(Keys::new(SlidingWindow::new(permits, window), max_keys)),
            Rule::TokenBucket { burst } => {
                Table::TokenBucket(Keys::new(TokenBucket::new(permits, window, burst.max(1)), max_keys))
            }
        };
        Self { table, window, waiters: BTreeMap::new(), queued: 0, queue_limit }
    }

    /// Executions that wait.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queued
    }

    /// Keys that are remembered.
    #[must_use]
    pub fn keys(&self) -> usize {
        with!(&self.table, keys => keys.len())
    }

    /// How often the table was full and forgot a key that was not idle.
    #[must_use]
    pub const fn evictions(&self) -> u64 {
        with!(&self.table, keys => keys.evictions())
    }

    /// How many permits `key` could take now.
    #[must_use]
    pub fn available(&self, key: u64, now: Nanos) -> u32 {
        let (due, pinned) = with!(&self.table, keys => keys.available(key, now.get()));
        let waiting = pinned.and_then(|slot| self.waiters.get(&slot)).map_or(0, WaiterQueue::len);
        due.saturating_sub(u32::try_from(waiting).unwrap_or(u32::MAX))
    }

    /// When all permits of `key` are back, if nobody takes one before.
    #[must_use]
    pub fn reset_at(&self, key: u64, now: Nanos) -> Nanos {
        Nanos::new(with!(&self.table, keys => keys.reset_at(key, now.get())))
    }

    /// The slot of `key`, if a permit is due for one who waits.
    #[must_use]
    pub fn overdue(&self, key: u64, now: Nanos) -> Option<u32> {
        if self.queued == 0 {
            return None;
        }
        let (due, pinned) = with!(&self.table, keys => keys.available(key, now.get()));
        pinned.filter(|_| due > 0)
    }

    /// Asks for a permit of `key`, a number that is spread evenly, such as a hash.
    ///
    /// Waiters that are [overdue](Self::overdue) have to be let in first: a newcomer queues behind them.
    pub fn acquire(&mut self, key: u64, ticket: Key, now: Nanos) -> Turn {
        let now = now.get();
        let room = with!(&mut self.table, keys => {
            match keys.enter(key, now) {
                Some(slot) if !keys.is_pinned(slot) && keys.take(slot, now) => return Turn::Granted,
                slot => slot.map(|slot| (slot, keys.due(slot, now))),
            }
        });
        let Some((slot, due)) = room else {
            return Turn::Refused { retry_at: Nanos::new(now.saturating_add(self.window)) };
        };
        let due = Nanos::new(due);
        let (rank, due) = match self.waiters.get_mut(&slot) {
            Some(waiters) if waiters.len() < self.queue_limit => (waiters.push(Priority::DEFAULT, ticket), None),
            None if self.queue_limit > 0 && with!(&self.table, keys => keys.can_pin()) => {
                with!(&mut self.table, keys => keys.pin(slot));
                (self.waiters.entry(slot).or_default().push(Priority::DEFAULT, ticket), Some(due))
            }
            _ => return Turn::Refused { retry_at: due },
        };
        self.queued += 1;
        Turn::Queued { place: Place { slot, rank }, due }
    }

    /// The waiter of the key at `slot` whose turn is next, and when its permit is due.
    #[must_use]
    pub fn head(&self, slot: u32, now: Nanos) -> Option<(Key, Nanos)> {
        let head = self.waiters.get(&slot)?.first()?;
        let due = with!(&self.table, keys => keys.due(slot, now.get()));
        Some((head, Nanos::new(due)))
    }

    /// Hands a permit of the key at `slot`, if one is due, to the waiter whose turn it is.
    pub fn next_waiter(&mut self, slot: u32, now: Nanos) -> Option<Key> {
        let waiters = self.waiters.get_mut(&slot)?;
        if !with!(&mut self.table, keys => keys.take(slot, now.get())) {
            return None;
        }
        let ticket = waiters.pop();
        self.left(slot);
        ticket
    }

    /// Takes a waiter out of its queue.
    pub fn abandon(&mut self, place: Place) {
        if self.waiters.get_mut(&place.slot).and_then(|waiters| waiters.remove(place.rank)).is_some() {
            self.left(place.slot);
        }
    }

    /// Takes any waiter out of its queue, those of one key in order of turn.
    pub fn evict_waiter(&mut self) -> Option<Key> {
        let (&slot, waiters) = self.waiters.iter_mut().next()?;
        let ticket = waiters.pop();
        self.left(slot);
        ticket
    }

    /// One waiter of the key at `slot` has left; with the last one the queue goes, and the pin.
    fn left(&mut self, slot: u32) {
        self.queued -= 1;
        if self.waiters.get(&slot).is_some_and(WaiterQueue::is_empty) {
            self.waiters.remove(&slot);
            with!(&mut self.table, keys => keys.unpin(slot));
        }
    }
}
