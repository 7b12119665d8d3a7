//! Keys whose permits are all taken, after the table of keys had no more room for them.
//!
//! Whoever has many keys, such as the networks of a large block of IPv6, could push a key out of the table that he has
//! used up, and begin anew with it. Here such a key lasts until another so many were used up as well.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use super::spread::Spread;

#[derive(Debug)]
struct Held<S> {
    state: S,
    /// Which of the entries in the order is its own: it may have come and gone before.
    turn: u64,
}

/// States of a bounded number of keys, the oldest of which goes first.
#[derive(Debug)]
pub struct HeldKeys<S> {
    states: HashMap<u64, Held<S>, BuildHasherDefault<Spread>>,
    order: VecDeque<(u64, u64)>,
    turn: u64,
    most: usize,
}

impl<S> HeldKeys<S> {
    /// Room for `most` keys, none of it taken from memory before it is needed.
    pub fn new(most: usize) -> Self {
        Self { states: HashMap::default(), order: VecDeque::new(), turn: 0, most }
    }

    /// The state of `key`, if it is held.
    pub fn get(&self, key: u64) -> Option<&S> {
        self.states.get(&key).map(|held| &held.state)
    }

    /// Gives the state of `key` back, if it is held.
    pub fn take(&mut self, key: u64) -> Option<S> {
        self.states.remove(&key).map(|held| held.state)
    }

    /// Holds a key that is not held, and gives what has to go for it.
    pub fn put(&mut self, key: u64, state: S) -> Option<S> {
        if self.most == 0 {
            return Some(state);
        }
        self.turn += 1;
        self.states.insert(key, Held { state, turn: self.turn });
        self.order.push_back((key, self.turn));
        let mut gone = None;
        // Of those that were taken back, an entry in the order is left: it goes in its turn, or when there are many.
        while self.states.len() > self.most || self.order.len() > 2 * self.most {
            let (oldest, turn) = self.order.pop_front()?;
            if self.states.get(&oldest).is_some_and(|held| held.turn == turn) {
                gone = self.take(oldest);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut held = HeldKeys::new(2);
        assert_eq!((held.put(1, 'a'), held.put(2, 'b'), held.put(3, 'c')), (None, None, Some('a')));
        assert_eq!((held.get(1), held.get(2), held.get(3)), (None, Some(&'b'), Some(&'c')));
    }

    #[test]
    fn one_that_was_taken_back_and_comes_again_is_the_youngest() {
        let mut held = HeldKeys::new(2);
        held.put(1, 'a');
        held.put(2, 'b');
        assert_eq!(held.take(1), Some('a'));
        held.put(1, 'c');
        assert_eq!(held.put(3, 'd'), Some('b'));
        assert_eq!((held.get(1), held.get(3)), (Some(&'c'), Some(&'d')));
    }

    #[test]
    fn coming_and_going_takes_no_memory() {
        let mut held = HeldKeys::new(10);
        for round in 0..100_000_u64 {
            held.put(round % 5, round);
            held.take(round % 5);
        }
        assert!(held.order.len() <= 20 && held.states.is_empty());
    }

    #[test]
    fn without_room_nothing_is_held() {
        assert_eq!(HeldKeys::new(0).put(1, 'a'), Some('a'));
    }
}
