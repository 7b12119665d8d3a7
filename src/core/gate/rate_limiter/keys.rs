//! What is remembered of each key, for a bounded number of keys.
//!
//! # Ground rules
//!
//! - Every entry is in the index, and either *pinned*, because someone waits for its key, or in the list of
//!   uses: from the most recently used one to the least.
//! - A pinned entry is never forgotten. Of the others the least recently used goes first; if all of its permits are
//!   taken, it is held in a second, smaller table, from which it comes back.
//! - Of a table of 16 entries or more, a sixteenth is never pinned: a newcomer finds a place.
//! - There are never more than `max_keys` entries. A place that is vacant is used before the table grows.
//!
//! Every operation is O(1), but for the growth of the table.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::held::HeldKeys;
use super::schedule::Schedule;
use super::spread::Spread;

/// Instead of a slot: there is none.
const NONE: u32 = u32::MAX;
/// Instead of a newer entry: this one is pinned.
const PINNED: u32 = u32::MAX - 1;
/// How many idle entries a newcomer clears away: one more than it adds, so that a table shrinks to what is in
/// use.
const CLEARED: usize = 2;
/// One of so many entries cannot be pinned, and as many exhausted keys are held beside the table.
const SHARE: usize = 16;

#[derive(Debug)]
struct Entry<S> {
    state: S,
    key: u64,
    newer: u32,
    older: u32,
}

/// Keys and the state of each under the rule `R`.
#[derive(Debug)]
pub struct Keys<R: Schedule> {
    rule: R,
    entries: Vec<Entry<R::State>>,
    index: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    newest: u32,
    oldest: u32,
    /// The first vacant place; the others follow by `older`.
    vacant: u32,
    most: usize,
    pinned: usize,
    held: HeldKeys<R::State>,
    evictions: u64,
}

impl<R: Schedule> Keys<R> {
    /// Room for `max_keys` keys, 1 to 2^26 - 1, none of it taken from memory before it is needed.
    pub fn new(rule: R, max_keys: usize) -> Self {
        Self {
            rule,
            entries: Vec::new(),
            index: HashMap::default(),
            newest: NONE,
            oldest: NONE,
            vacant: NONE,
            most: max_keys,
            pinned: 0,
            held: HeldKeys::new(max_keys / SHARE),
            evictions: 0,
        }
    }

    /// How many keys are remembered.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// How often a key was forgotten that was not idle.
    pub const fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The slot of `key`, which becomes the most recently used one; `None` if there is no room for it.
    pub fn enter(&mut self, key: u64, now: u64) -> Option<u32> {
        if let Some(newest) = self.entries.get(self.newest as usize)
            && newest.key == key
        {
            return Some(self.newest);
        }
        let Some(&slot) = self.index.get(&key) else { return self.insert(key, now) };
        if !self.is_pinned(slot) {
            self.unlink(slot);
            self.link(slot);
        }
        Some(slot)
    }

    /// Takes a permit of the key at `slot`, if one is due.
    pub fn take(&mut self, slot: u32, now: u64) -> bool {
        self.rule.take(&mut self.entries[slot as usize].state, now)
    }

    /// When a permit of the key at `slot` is due.
    pub fn due(&self, slot: u32, now: u64) -> u64 {
        self.rule.due(&self.entries[slot as usize].state, now)
    }

    /// How many permits of `key` are due, and its slot if it is pinned.
    pub fn available(&self, key: u64, now: u64) -> (u32, Option<u32>) {
        match self.index.get(&key) {
            Some(&slot) => {
                let available = self.rule.available(&self.entries[slot as usize].state, now);
                (available, self.is_pinned(slot).then_some(slot))
            }
            // It would have to be refused.
            None if self.is_full_of_pinned() => (0, None),
            None => {
                let unseen = R::State::default();
                (self.rule.available(self.held.get(key).unwrap_or(&unseen), now), None)
            }
        }
    }

    /// When all permits of `key` are due.
    pub fn reset_at(&self, key: u64, now: u64) -> u64 {
        let state = self.index.get(&key).map(|&slot| &self.entries[slot as usize].state);
        state.or_else(|| self.held.get(key)).map_or(now, |state| self.rule.reset_at(state, now))
    }

    /// Whether someone waits for the key at `slot`.
    pub fn is_pinned(&self, slot: u32) -> bool {
        self.entries[slot as usize].newer == PINNED
    }

    /// Whether one more key may be pinned.
    pub const fn can_pin(&self) -> bool {
        self.pinned < self.most - self.most / SHARE
    }

    /// Whether no place could be had for a key that has none.
    fn is_full_of_pinned(&self) -> bool {
        self.oldest == NONE && self.len() >= self.most
    }

    /// Keeps the key at `slot`, which is not pinned.
    pub fn pin(&mut self, slot: u32) {
        self.pinned += 1;
        self.unlink(slot);
        self.entries[slot as usize].newer = PINNED;
    }

    /// Makes the pinned key at `slot` the most recently used one.
    pub fn unpin(&mut self, slot: u32) {
        self.pinned -= 1;
        self.link(slot);
    }

    fn insert(&mut self, key: u64, now: u64) -> Option<u32> {
        for _ in 0..CLEARED {
            match self.entries.get(self.oldest as usize) {
                Some(oldest) if self.rule.is_idle(&oldest.state, now) => self.forget(self.oldest),
                _ => break,
            }
        }
        if self.is_full_of_pinned() {
            return None;
        }
        let state = self.held.take(key).unwrap_or_default();
        if self.len() >= self.most {
            self.evict(self.oldest, now);
        }
        let entry = Entry { state, key, newer: NONE, older: NONE };
        let slot = self.vacant;
        let slot = if let Some(place) = self.entries.get_mut(slot as usize) {
            self.vacant = place.older;
            *place = entry;
            slot
        } else {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).ok()?
        };
        self.index.insert(key, slot);
        self.link(slot);
        Some(slot)
    }

    /// Forgets an entry that is neither pinned nor idle, but for a while if its permits are all taken.
    fn evict(&mut self, slot: u32, now: u64) {
        let entry = &mut self.entries[slot as usize];
        let (key, state) = (entry.key, std::mem::take(&mut entry.state));
        self.forget(slot);
        let lost = if self.rule.available(&state, now) == 0 { self.held.put(key, state) } else { Some(state) };
        self.evictions += u64::from(lost.is_some_and(|state| !self.rule.is_idle(&state, now)));
    }

    /// Makes the place of an entry that is not pinned vacant.
    fn forget(&mut self, slot: u32) {
        self.unlink(slot);
        let entry = &mut self.entries[slot as usize];
        entry.state = R::State::default();
        entry.older = self.vacant;
        self.vacant = slot;
        self.index.remove(&entry.key);
    }

    /// Puts an entry, which is in no list, in front of the list of uses.
    fn link(&mut self, slot: u32) {
        let second = self.newest;
        let entry = &mut self.entries[slot as usize];
        (entry.newer, entry.older) = (NONE, second);
        match self.entries.get_mut(second as usize) {
            Some(second) => second.newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
    }

    /// Takes an entry out of the list of uses.
    fn unlink(&mut self, slot: u32) {
        let Entry { newer, older, .. } = self.entries[slot as usize];
        match self.entries.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixed_window::{FixedWindow, Window};
    use super::super::sliding_window::Log;
    use super::*;

    /// One permit in 10 ns.
    fn keys(max_keys: usize) -> Keys<FixedWindow> {
        Keys::new(FixedWindow::new(1, 10), max_keys)
    }

    /// Takes a permit of a key.
    fn ask(keys: &mut Keys<FixedWindow>, key: u64, now: u64) -> bool {
        let slot = keys.enter(key, now).expect("there is room");
        keys.take(slot, now)
    }

    #[test]
    fn a_full_table_forgets_the_least_recently_used_key_and_counts_it() {
        let mut keys = keys(2);
        for key in [1, 2, 1, 3] {
            ask(&mut keys, key, 0);
        }
        assert_eq!((keys.len(), keys.evictions()), (2, 1));
        assert!(!ask(&mut keys, 1, 1) && !ask(&mut keys, 3, 1));
        assert!(ask(&mut keys, 2, 1));
    }

    #[test]
    fn idle_keys_go_two_at_a_time_and_are_not_counted() {
        let mut keys = keys(100);
        for key in 0..10 {
            ask(&mut keys, key, key);
        }
        ask(&mut keys, 10, 11);
        assert_eq!(keys.len(), 9);
        ask(&mut keys, 11, 11);
        assert_eq!(keys.len(), 10);
        for key in 12..21 {
            ask(&mut keys, key, 30);
        }
        assert_eq!((keys.len(), keys.evictions()), (9, 0));
    }

    #[test]
    fn a_pinned_key_is_never_forgotten() {
        let mut keys = keys(2);
        ask(&mut keys, 1, 0);
        ask(&mut keys, 2, 0);
        let slot = keys.enter(1, 0).expect("a known key");
        keys.pin(slot);
        ask(&mut keys, 3, 100);
        assert_eq!(keys.enter(1, 100), Some(slot));
        let other = keys.enter(3, 100).expect("a known key");
        keys.pin(other);
        assert_eq!(keys.enter(4, 100), None);
        keys.unpin(other);
        assert!(keys.enter(4, 200).is_some());
        assert_eq!(keys.reset_at(3, 200), 200);
    }

    #[test]
    fn a_million_keys_take_no_more_memory_than_the_table_holds() {
        let mut keys = keys(1000);
        for key in 0..1_000_000 {
            assert!(ask(&mut keys, key, 0));
            assert!(keys.len() <= 1000);
        }
        assert_eq!(keys.evictions(), 999_000 - 1000 / 16);
        assert!(keys.entries.capacity() <= 1024 && keys.index.capacity() <= 4096);
    }

    #[test]
    fn a_key_that_is_used_up_outlives_a_flood_of_others() {
        let mut keys = Keys::new(FixedWindow::new(2, 1000), 160);
        assert!(ask(&mut keys, 7, 0) && ask(&mut keys, 7, 0) && !ask(&mut keys, 7, 0));
        for key in 1000..100_000 {
            assert!(ask(&mut keys, key, 1));
        }
        assert_eq!((keys.available(7, 2), keys.reset_at(7, 2), keys.len()), ((0, None), 1000, 160));
        assert!(!ask(&mut keys, 7, 999));
        assert!(ask(&mut keys, 7, 1000));
    }

    #[test]
    fn a_sixteenth_of_a_table_is_never_pinned_so_that_newcomers_find_room() {
        let mut keys = Keys::new(FixedWindow::new(1, 10), 32);
        for key in 0..32 {
            let slot = keys.enter(key, 0).expect("there is room");
            assert_eq!(keys.can_pin(), key < 30);
            if keys.can_pin() {
                keys.pin(slot);
            }
        }
        assert!(ask(&mut keys, 100, 0) && ask(&mut keys, 101, 0) && ask(&mut keys, 102, 0));
        let mut small = self::keys(1);
        let slot = small.enter(1, 0).expect("there is room");
        small.pin(slot);
        assert_eq!((small.enter(2, 0), small.available(2, 0)), (None, (0, None)));
    }

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Entry<Window>>(), 32);
        assert_eq!(size_of::<Entry<u128>>(), 32);
        assert_eq!(size_of::<Entry<Log>>(), 48);
    }
}
