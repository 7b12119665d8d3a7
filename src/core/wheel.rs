//! A hierarchical timer wheel with a resolution of one millisecond.
//!
//! After Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987): eight levels of 64 slots. A slot
//! of level 0 spans 1 ms, of level 1 64 ms, of level 2 4.1 s, of level 3 4.4 min, of level 4 4.7 h, of level 5
//! 12.4 days, of level 6 2.2 years, of level 7 139 years: 8900 years in all, and later deadlines are held at
//! that end.
//!
//! # Ground rules
//!
//! - `elapsed` only grows. An entry's deadline is never less than `elapsed`.
//! - An entry of level `n` agrees with `elapsed` in every base-64 digit above `n`, and its digit `n` is greater
//!   than that of `elapsed` (level 0: greater or equal). So the lowest occupied slot of the lowest occupied
//!   level always holds the next deadline, and no slot ever wraps around.
//! - Reaching a slot of a level above 0 moves its entries down, in front of those already there: these were
//!   added later. Entries of one millisecond thus fire in the order they were added.
//!
//! Arming and disarming are O(1); an entry moves down at most seven times in its life.

use super::slab::{Key, Slab};

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 8;
const MAX_TICK: u64 = (1 << (BITS * 8)) - 1;

/// The two ends of a slot's doubly linked list.
#[derive(Clone, Copy, Debug)]
struct List {
    first: Key,
    last: Key,
}

#[derive(Debug)]
struct Level {
    /// Bit `n` is set while slot `n` has entries.
    occupied: u64,
    slots: [Option<List>; SLOTS],
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    tick: u64,
    level: usize,
    previous: Option<Key>,
    next: Option<Key>,
}

/// Deadlines in milliseconds, each with a value.
#[derive(Debug)]
pub struct Wheel<T> {
    entries: Slab<Entry<T>>,
    levels: [Level; LEVELS],
    /// Bit `n` is set while level `n` has entries.
    occupied: u32,
    elapsed: u64,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self {
            entries: Slab::default(),
            levels: std::array::from_fn(|_| Level { occupied: 0, slots: [None; SLOTS] }),
            occupied: 0,
            elapsed: 0,
        }
    }
}

const fn shift_of(level: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "there are eight levels")]
    let level = level as u32;
    level * BITS
}

const fn slot_of(tick: u64, level: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "only the low six bits are kept")]
    let digits = (tick >> shift_of(level)) as usize;
    digits % SLOTS
}

impl<T> Wheel<T> {
    /// How many deadlines are armed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no deadline is armed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Arms a deadline at millisecond `tick`; one that has passed fires at the next [`Wheel::pop`].
    pub fn insert(&mut self, tick: u64, value: T) -> Key {
        let tick = tick.clamp(self.elapsed, MAX_TICK);
        let key = self.entries.insert(Entry { value, tick, level: 0, previous: None, next: None });
        self.link(key, tick, End::Back);
        key
    }

    /// Disarms a deadline and gives its value back; `None` if it has fired or was disarmed.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.remove(key)?;
        let slot = slot_of(entry.tick, entry.level);
        match entry.previous {
            Some(previous) => self.entry(previous).next = entry.next,
            None => self.set_first(entry.level, slot, entry.next),
        }
        match entry.next {
            Some(next) => self.entry(next).previous = entry.previous,
            None => self.set_last(entry.level, slot, entry.previous),
        }
        Some(entry.value)
    }

    /// The next deadline that is due at millisecond `now`, earliest first.
    pub fn pop(&mut self, now: u64) -> Option<T> {
        while let Some((level, slot, start)) = self.next_slot() {
            if start > now {
                break;
            }
            self.elapsed = self.elapsed.max(start);
            if level == 0 {
                let first = self.levels[0].slots[slot]?.first;
                return self.remove(first);
            }
            self.move_down(level, slot);
        }
        self.elapsed = self.elapsed.max(now.min(MAX_TICK));
        None
    }

    /// The millisecond at which [`Wheel::pop`] has work: the next deadline or, while that is more than a slot
    /// of its level away, an earlier moment.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        self.next_slot().map(|(_, _, start)| start)
    }

    const fn next_slot(&self) -> Option<(usize, usize, u64)> {
        if self.occupied == 0 {
            return None;
        }
        let level = self.occupied.trailing_zeros() as usize;
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        let shift = shift_of(level);
        let above = self.elapsed >> (shift + BITS) << (shift + BITS);
        Some((level, slot, above | (slot as u64) << shift))
    }

    /// Empties a slot from its end, putting each entry in front of its new slot, which keeps their order.
    fn move_down(&mut self, level: usize, slot: usize) {
        let mut cursor = self.levels[level].slots[slot].map(|list| list.last);
        self.set_first(level, slot, None);
        while let Some(key) = cursor {
            let entry = self.entry(key);
            cursor = entry.previous;
            let tick = entry.tick;
            self.link(key, tick, End::Front);
        }
    }

    fn link(&mut self, key: Key, tick: u64, end: End) {
        let differing = (self.elapsed ^ tick) | (SLOTS as u64 - 1);
        let level = (differing.ilog2() / BITS) as usize;
        let slot = slot_of(tick, level);
        let list = self.levels[level].slots[slot];
        let (previous, next) = match end {
            End::Back => (list.map(|list| list.last), None),
            End::Front => (None, list.map(|list| list.first)),
        };
        let entry = self.entry(key);
        (entry.level, entry.previous, entry.next) = (level, previous, next);
        if let Some(previous) = previous {
            self.entry(previous).next = Some(key);
        }
        if let Some(next) = next {
            self.entry(next).previous = Some(key);
        }
        self.levels[level].slots[slot] = Some(match (list, end) {
            (None, _) => List { first: key, last: key },
            (Some(list), End::Back) => List { last: key, ..list },
            (Some(list), End::Front) => List { first: key, ..list },
        });
        self.levels[level].occupied |= 1 << slot;
        self.occupied |= 1 << level;
    }

    const fn set_first(&mut self, level: usize, slot: usize, first: Option<Key>) {
        let place = &mut self.levels[level].slots[slot];
        if let (Some(first), Some(list)) = (first, place.as_mut()) {
            list.first = first;
            return;
        }
        *place = None;
        self.levels[level].occupied &= !(1 << slot);
        if self.levels[level].occupied == 0 {
            self.occupied &= !(1 << level);
        }
    }

    const fn set_last(&mut self, level: usize, slot: usize, last: Option<Key>) {
        if let (Some(last), Some(list)) = (last, self.levels[level].slots[slot].as_mut()) {
            list.last = last;
        }
    }

    fn entry(&mut self, key: Key) -> &mut Entry<T> {
        self.entries.get_mut(key).expect("a list holds only keys of live entries")
    }
}

#[derive(Clone, Copy)]
enum End {
    Front,
    Back,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(wheel: &mut Wheel<u32>, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| wheel.pop(now)).collect()
    }

    #[test]
    fn fires_at_its_millisecond_and_not_before() {
        for tick in [1, 63, 64, 65, 4095, 4096, 5000, (1 << 31) + 7, 1 << 40] {
            let mut wheel = Wheel::default();
            wheel.insert(tick, 1);
            assert_eq!(drain(&mut wheel, tick - 1), []);
            assert_eq!(drain(&mut wheel, tick), [1]);
            assert!(wheel.is_empty());
        }
    }

    #[test]
    fn one_millisecond_fires_in_the_order_of_arming() {
        let mut wheel = Wheel::default();
        wheel.insert(5000, 1);
        wheel.insert(5000, 2);
        assert_eq!(drain(&mut wheel, 4990), []);
        wheel.insert(5000, 3);
        wheel.insert(4999, 0);
        assert_eq!(drain(&mut wheel, 5000), [0, 1, 2, 3]);
    }

    #[test]
    fn a_passed_deadline_fires_at_once() {
        let mut wheel = Wheel::default();
        drain(&mut wheel, 1000);
        wheel.insert(3, 1);
        assert_eq!(drain(&mut wheel, 1000), [1]);
    }

    #[test]
    fn a_disarmed_deadline_never_fires() {
        let mut wheel = Wheel::default();
        let keys: Vec<_> = (0..5).map(|n| (n, wheel.insert(700, n))).collect();
        for (n, key) in keys.into_iter().step_by(2) {
            assert_eq!(wheel.remove(key), Some(n));
            assert_eq!(wheel.remove(key), None);
        }
        assert_eq!(drain(&mut wheel, 700), [1, 3]);
        assert_eq!(wheel.next_tick(), None);
    }

    #[test]
    fn a_deadline_beyond_the_last_level_is_held_at_its_end() {
        let mut wheel = Wheel::default();
        wheel.insert(u64::MAX, 1);
        assert_eq!(drain(&mut wheel, MAX_TICK - 1), []);
        assert_eq!(drain(&mut wheel, u64::MAX), [1]);
    }

    #[test]
    fn the_next_tick_is_never_after_the_next_deadline() {
        let mut wheel = Wheel::default();
        wheel.insert(10_000, 1);
        let mut wakes = 0;
        while let Some(tick) = wheel.next_tick() {
            assert!(tick <= 10_000);
            drain(&mut wheel, tick);
            wakes += 1;
        }
        assert!(wakes <= LEVELS, "{wakes} wakes for one deadline");
    }
}
