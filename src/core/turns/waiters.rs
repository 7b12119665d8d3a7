//! The requests that wait for their start, and all others that have not ended.

use std::collections::{BTreeMap, VecDeque};

use super::demand::LEVELS;
use crate::core::clock::Nanos;
use crate::core::effect::Reason;
use crate::core::queue::{Overflow, Priority, Rank, WaiterQueue};
use crate::core::slab::{Key, Slab};

/// A request that has not ended.
#[derive(Clone, Copy, Debug)]
struct Request {
    door: Key,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Waiting {
        rank: Rank,
        level: usize,
        expiry: Expiry,
    },
    Started(Nanos),
    /// Turned away, which its owner has not heard of.
    Refused(Reason),
}

/// The moment until which a request waits, and a number that tells equal moments apart.
type Expiry = (Nanos, u64);

/// What a request was doing when it was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It had started then.
    Started(Nanos),
    /// It had not started, or nobody knows it.
    Nothing,
}

/// A queue by importance, then by arrival, and the requests that have left it without an end.
#[derive(Debug)]
pub struct Waiters {
    requests: Slab<Request>,
    queue: WaiterQueue,
    by_level: [usize; LEVELS],
    expiries: BTreeMap<Expiry, Key>,
    queued: u64,
    refused: VecDeque<Key>,
    /// The last one that [`Waiters::take_refused`] gave.
    told: Option<Key>,
}

impl Default for Waiters {
    fn default() -> Self {
        Self {
            requests: Slab::default(),
            queue: WaiterQueue::new(Overflow::DropLowestPriority),
            by_level: [0; LEVELS],
            expiries: BTreeMap::new(),
            queued: 0,
            refused: VecDeque::new(),
            told: None,
        }
    }
}

impl Waiters {
    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many wait that start before a newcomer of `level`.
    #[must_use]
    pub fn ahead(&self, level: usize) -> usize {
        self.by_level[..=level].iter().sum()
    }

    /// Requests that have not ended, whatever they do.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.requests.len()
    }

    /// Requests that were turned away, and wait for [`Waiters::take_refused`].
    #[must_use]
    pub fn untold(&self) -> usize {
        self.refused.len()
    }

    /// Takes in a request that starts at once.
    pub fn start(&mut self, door: Key, now: Nanos) -> Key {
        self.requests.insert(Request { door, state: State::Started(now) })
    }

    /// Queues a request behind all of its level, until `expires`.
    pub fn push(&mut self, door: Key, level: usize, expires: Nanos) -> Key {
        let expiry = (expires, self.queued);
        self.queued += 1;
        let key = self.requests.insert(Request { door, state: State::Refused(Reason::Full) });
        let rank = self.queue.push(priority(level), key);
        self.by_level[level] += 1;
        self.expiries.insert(expiry, key);
        self.set(key, State::Waiting { rank, level, expiry });
        key
    }

    /// Starts the one whose turn it is.
    pub fn pop(&mut self, now: Nanos) -> Option<(Key, Key)> {
        let key = self.queue.first()?;
        let door = self.take_out(key)?;
        self.set(key, State::Started(now));
        Some((key, door))
    }

    /// Turns away the newest of the least important ones, if it is less important than `level`. Gives its door.
    pub fn evict(&mut self, level: usize) -> Option<Key> {
        let key = self.queue.make_room(priority(level))?;
        let door = self.take_out(key)?;
        self.refuse(key, Reason::Dropped);
        Some(door)
    }

    /// Turns one away that has waited long enough at `now`. Gives its door.
    pub fn expire(&mut self, now: Nanos) -> Option<Key> {
        let (_, &key) = self.expiries.first_key_value().filter(|((expires, _), _)| *expires <= now)?;
        let door = self.take_out(key)?;
        self.refuse(key, Reason::QueueTimeout);
        Some(door)
    }

    /// The moment at which the next one has waited long enough.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Nanos> {
        self.expiries.first_key_value().map(|((expires, _), _)| *expires)
    }

    /// Turns all away that wait at `door`, and gives their number.
    pub fn close(&mut self, door: Key) -> usize {
        let waiting: Vec<Key> =
            self.expiries.values().copied().filter(|key| self.door(*key) == Some(door)).collect();
        for key in &waiting {
            if self.take_out(*key).is_some() {
                self.refuse(*key, Reason::Disposed);
            }
        }
        waiting.len()
    }

    /// Forgets a request: it has ended, or its client has left.
    pub fn remove(&mut self, key: Key) -> Left {
        self.take_out(key);
        match self.requests.remove(key).map(|request| request.state) {
            Some(State::Started(at)) => Left::Started(at),
            Some(State::Waiting { .. } | State::Refused(_)) | None => Left::Nothing,
        }
    }

    /// Turns one away that has started, of which its owner has not heard.
    pub fn take_back(&mut self, key: Key) {
        self.refuse(key, Reason::Dropped);
    }

    /// The next request that was turned away after it had waited, and why. Its key stays open until
    /// [`Waiters::forget_told`], so that no other has the same meanwhile.
    pub fn take_refused(&mut self) -> Option<(Key, Reason)> {
        while let Some(key) = self.refused.pop_front() {
            if let Some(Request { state: State::Refused(reason), .. }) = self.requests.get(key) {
                self.told = Some(key);
                return Some((key, *reason));
            }
        }
        None
    }

    /// The answer of the last call was heard.
    pub fn forget_told(&mut self) {
        if let Some(key) = self.told.take() {
            self.requests.remove(key);
        }
    }

    /// The answer of the last call was not heard.
    pub fn tell_again(&mut self) {
        if let Some(key) = self.told.take() {
            self.refused.push_front(key);
        }
    }

    fn door(&self, key: Key) -> Option<Key> {
        self.requests.get(key).map(|request| request.door)
    }

    fn refuse(&mut self, key: Key, reason: Reason) {
        self.set(key, State::Refused(reason));
        self.refused.push_back(key);
    }

    fn set(&mut self, key: Key, state: State) {
        if let Some(request) = self.requests.get_mut(key) {
            request.state = state;
        }
    }

    /// Takes one out of the queue, if it is there; it keeps its key. Gives its door.
    fn take_out(&mut self, key: Key) -> Option<Key> {
        let Request { door, state: State::Waiting { rank, level, expiry } } = *self.requests.get(key)? else {
            return None;
        };
        self.queue.remove(rank);
        self.expiries.remove(&expiry);
        self.by_level[level] -= 1;
        Some(door)
    }
}

fn priority(level: usize) -> Priority {
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    Priority::new(level as f64).unwrap_or(Priority::DEFAULT)
}
