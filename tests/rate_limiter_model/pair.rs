//! The limiter and its model, side by side.

use std::collections::VecDeque;

use proptest::prelude::*;
use resilience::core::clock::Nanos;
use resilience::core::gate::rate_limiter::{Place, RateLimiter, Turn};
use resilience::core::slab::{Key, Slab};

use crate::rules::{Settings, at, first};

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Someone asks for a permit of this key.
    Acquire(u64),
    /// The same, and someone refused comes back when told.
    Insist(u64),
    /// The first waiter of this key is let in, if a permit is due.
    Serve(u64),
    /// One of the waiters goes away.
    Abandon(usize),
    /// What the limiter says of this key is compared.
    Inspect(u64),
    /// This many 64ths of a window go by.
    Pass(u64),
    /// This many nanoseconds go by.
    Tick(u64),
    /// This many windows go by.
    Jump(u64),
}

/// A key that the limiter has not forgotten.
#[derive(Debug)]
struct Known {
    key: u64,
    permits: Vec<u64>,
    waiters: VecDeque<(Key, Place)>,
}

/// The limiter, and what it should know: the least recently used key first.
pub struct Pair {
    settings: Settings,
    limiter: RateLimiter,
    known: Vec<Known>,
    evictions: u64,
    tickets: Slab<()>,
    now: u64,
}

pub type Checked<T = ()> = Result<T, TestCaseError>;

impl Pair {
    pub fn new(settings: Settings, window_ms: f64, now: u64) -> Self {
        let Settings { rule, permits, max_keys, queue_limit, .. } = settings;
        let limiter = RateLimiter::new(rule, permits, window_ms, max_keys, queue_limit);
        Self { settings, limiter, known: Vec::new(), evictions: 0, tickets: Slab::default(), now }
    }

    fn find(&self, key: u64) -> Option<usize> {
        self.known.iter().position(|known| known.key == key)
    }

    /// Makes `key` the most recently used one, and makes room for it if it is not known.
    fn enter(&mut self, key: u64) -> Option<usize> {
        let unpinned = |known: &Known| known.waiters.is_empty();
        if let Some(index) = self.find(key) {
            if !unpinned(&self.known[index]) {
                return Some(index);
            }
            let known = self.known.remove(index);
            self.known.push(known);
            return Some(self.known.len() - 1);
        }
        for _ in 0..2 {
            let oldest = self.known.iter().position(unpinned);
            match oldest.filter(|oldest| self.settings.is_idle(&self.known[*oldest].permits, self.now)) {
                Some(oldest) => self.known.remove(oldest),
                None => break,
            };
        }
        if self.known.len() == self.settings.max_keys {
            self.known.remove(self.known.iter().position(unpinned)?);
            self.evictions += 1;
        }
        self.known.push(Known { key, permits: Vec::new(), waiters: VecDeque::new() });
        Some(self.known.len() - 1)
    }

    /// A key without waiters goes to the end of the order of uses.
    fn left(&mut self, index: usize) {
        if self.known[index].waiters.is_empty() {
            let known = self.known.remove(index);
            self.known.push(known);
        }
    }

    /// Checks when the next permit of a key is said to be due, and gives it in nanoseconds.
    fn check_due(&self, index: usize, due: Nanos) -> Checked<u64> {
        let Settings { window, .. } = self.settings;
        let permits = &self.known[index].permits;
        let earliest = self.settings.due(permits, self.now, window);
        let latest = self.settings.due(permits, self.now, window + self.settings.slack());
        prop_assert!(at(earliest) <= due && due <= at(latest), "{:?} in {}..={}", due, earliest, latest);
        Ok(first(earliest, latest, |moment| at(moment) >= due))
    }

    /// Checks that no permit of a key is due, or that it is one which may be late.
    fn check_none_due(&self, index: usize) -> Checked {
        let window = self.settings.window + self.settings.slack();
        prop_assert!(!self.settings.allows(&self.known[index].permits, self.now, window));
        Ok(())
    }

    /// Takes a permit out of the model.
    fn take(&mut self, index: usize) -> Checked {
        let permits = &mut self.known[index].permits;
        prop_assert!(self.settings.allows(permits, self.now, self.settings.window), "one too many");
        permits.push(self.now);
        Ok(())
    }

    /// Asks for a permit; gives when to come back if it is refused for its key's sake.
    fn acquire(&mut self, key: u64) -> Checked<Option<u64>> {
        let ticket = self.tickets.insert(());
        let turn = self.limiter.acquire(key, ticket, at(self.now));
        let Some(index) = self.enter(key) else {
            prop_assert_eq!(turn, Turn::Refused { retry_at: at(self.now + self.settings.window) });
            return Ok(None);
        };
        let waiting = self.known[index].waiters.len();
        if waiting == 0 && turn != Turn::Granted {
            self.check_none_due(index)?;
        }
        match turn {
            Turn::Granted => {
                prop_assert_eq!(waiting, 0, "a newcomer overtook a waiter");
                self.take(index)?;
            }
            Turn::Queued { place, due } => {
                prop_assert!(waiting < self.settings.queue_limit);
                prop_assert_eq!(due.is_some(), waiting == 0);
                due.map(|due| self.check_due(index, due)).transpose()?;
                self.known[index].waiters.push_back((ticket, place));
            }
            Turn::Refused { retry_at } => {
                prop_assert_eq!(waiting, self.settings.queue_limit);
                return self.check_due(index, retry_at).map(Some);
            }
        }
        Ok(None)
    }

    /// Comes back just before the moment that a refusal names, and at it.
    fn insist(&mut self, key: u64) -> Checked {
        let Some(retry_at) = self.acquire(key)? else { return Ok(()) };
        if retry_at > self.now {
            self.now = retry_at - 1;
            prop_assert_eq!(self.acquire(key)?, Some(retry_at));
            self.now = retry_at;
        }
        if self.settings.queue_limit > 0 {
            prop_assert!(self.serve(key)?, "the head of a full queue is due");
        }
        prop_assert_eq!(self.acquire(key)?, None);
        Ok(())
    }

    /// Lets a waiter in, if a permit is due.
    fn serve(&mut self, key: u64) -> Checked<bool> {
        let Some(index) = self.find(key) else { return Ok(false) };
        let Some(&(ticket, place)) = self.known[index].waiters.front() else { return Ok(false) };
        let head = self.limiter.head(place.slot, at(self.now));
        prop_assert_eq!(head.map(|(head, _)| head), Some(ticket));
        let due = head.map(|(_, due)| self.check_due(index, due)).transpose()?;
        let next = self.limiter.next_waiter(place.slot, at(self.now));
        prop_assert_eq!(next.is_some(), due == Some(self.now));
        if let Some(next) = next {
            prop_assert_eq!(next, ticket);
            self.take(index)?;
            self.known[index].waiters.pop_front();
            self.left(index);
        } else {
            self.check_none_due(index)?;
        }
        Ok(next.is_some())
    }

    fn abandon(&mut self, choice: usize) {
        let all = self.known.iter().enumerate().flat_map(|(index, known)| {
            known.waiters.iter().enumerate().map(move |(turn, (_, place))| (index, turn, *place))
        });
        let all: Vec<_> = all.collect();
        let Some(&(index, turn, place)) = all.get(choice % all.len().max(1)) else { return };
        self.limiter.abandon(place);
        self.known[index].waiters.remove(turn);
        self.left(index);
    }

    fn inspect(&self, key: u64) -> Checked {
        let Settings { window, .. } = self.settings;
        let now = at(self.now);
        let Some(known) = self.find(key).map(|index| &self.known[index]) else {
            prop_assert_eq!(self.limiter.reset_at(key, now), now);
            // Where all keys have waiters, there would be no room for another one.
            let is_full = self.known.len() == self.settings.max_keys
                && self.known.iter().all(|known| !known.waiters.is_empty());
            let available = if is_full { 0 } else { self.settings.available(&[], self.now, window) };
            prop_assert_eq!(self.limiter.available(key, now), available);
            return Ok(());
        };
        let free = |window| {
            let due = self.settings.available(&known.permits, self.now, window);
            due.saturating_sub(u32::try_from(known.waiters.len()).expect("few waiters"))
        };
        let available = self.limiter.available(key, now);
        prop_assert!(free(window + self.settings.slack()) <= available && available <= free(window));
        let until = self.now + 32 * window;
        let reset_at = first(self.now, until, |moment| self.settings.is_idle(&known.permits, moment));
        prop_assert_eq!(self.limiter.reset_at(key, now), at(reset_at));
        Ok(())
    }

    pub fn step(&mut self, step: Step) -> Checked {
        match step {
            Step::Acquire(key) => self.acquire(key).map(|_| ())?,
            Step::Insist(key) => self.insist(key)?,
            Step::Serve(key) => self.serve(key).map(|_| ())?,
            Step::Abandon(choice) => self.abandon(choice),
            Step::Inspect(key) => self.inspect(key)?,
            Step::Pass(share) => self.now += self.settings.window / 64 * share,
            Step::Tick(nanos) => self.now += nanos,
            Step::Jump(windows) => self.now += self.settings.window * windows,
        }
        prop_assert_eq!(self.limiter.keys(), self.known.len());
        prop_assert_eq!(self.limiter.evictions(), self.evictions);
        let queued: usize = self.known.iter().map(|known| known.waiters.len()).sum();
        prop_assert_eq!(self.limiter.queued(), queued);
        Ok(())
    }

    pub fn dispose(&mut self) -> Checked {
        while let Some(ticket) = self.limiter.evict_waiter() {
            let head = |known: &Known| known.waiters.front().is_some_and(|(head, _)| *head == ticket);
            let index = self.known.iter().position(head);
            prop_assert!(index.is_some(), "a waiter out of turn");
            self.known[index.unwrap_or_default()].waiters.pop_front();
        }
        prop_assert!(self.known.iter().all(|known| known.waiters.is_empty()));
        prop_assert_eq!(self.limiter.queued(), 0);
        Ok(())
    }
}
