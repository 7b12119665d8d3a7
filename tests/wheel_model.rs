//! The timer wheel against a sorted map.

use std::collections::BTreeMap;

use proptest::prelude::*;
use resilience::core::slab::Key;
use resilience::core::wheel::Wheel;

/// Levels of the wheel: one wake for each that a deadline moves down through, at the most.
const LEVELS: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Arm a deadline this far from now; a negative one has passed already.
    Insert(i64),
    /// Disarm one of those ever armed.
    Remove(usize),
    /// Fire this many of those due this far from now.
    Pop(u64, usize),
    /// Fire all due this far from now.
    Advance(u64),
    /// Sleep until the wheel wants to be woken, this many times.
    Follow(usize),
}

/// Distances from milliseconds to decades, most of them about the ends of the wheel's slots.
fn distance() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..3_u64,
        0..200_u64,
        0..1_u64 << 40,
        (1..7_u32, 1..64_u64, 0..5_u64).prop_map(|(level, slot, offset)| ((slot << (6 * level)) + offset) - 2),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => distance().prop_map(|distance| Step::Insert(distance.cast_signed())),
        1 => (0..5000_i64).prop_map(|past| Step::Insert(-past)),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (distance(), 0..4_usize).prop_map(|(distance, count)| Step::Pop(distance, count)),
        2 => distance().prop_map(Step::Advance),
        1 => (1..20_usize).prop_map(Step::Follow),
    ]
}

/// The wheel and its model: deadlines by millisecond, then by order of arming.
#[derive(Default)]
struct Pair {
    wheel: Wheel<usize>,
    model: BTreeMap<(u64, usize), Key>,
    /// Every deadline ever armed: its key and its place in the model.
    armed: Vec<(Key, (u64, usize))>,
    /// The latest millisecond that the wheel was told.
    now: u64,
}

impl Pair {
    fn insert(&mut self, tick: u64) {
        let order = self.armed.len();
        let key = self.wheel.insert(tick, order);
        let place = (tick.max(self.now), order);
        self.model.insert(place, key);
        self.armed.push((key, place));
    }

    fn remove(&mut self, index: usize) -> Result<(), TestCaseError> {
        if self.armed.is_empty() {
            return Ok(());
        }
        let (key, place) = self.armed[index % self.armed.len()];
        let expected = self.model.remove(&place).map(|_| place.1);
        prop_assert_eq!(self.wheel.remove(key), expected);
        Ok(())
    }

    /// Fires up to `count` of those due at `now`.
    fn pop(&mut self, now: u64, count: usize) -> Result<(), TestCaseError> {
        for _ in 0..count {
            let due = self.model.first_key_value().map(|(place, _)| *place).filter(|(tick, _)| *tick <= now);
            prop_assert_eq!(self.wheel.pop(now), due.map(|(_, order)| order));
            let Some(place) = due else {
                self.now = self.now.max(now);
                return Ok(());
            };
            self.model.remove(&place);
            self.now = self.now.max(place.0);
        }
        Ok(())
    }

    fn follow(&mut self, wakes: usize) -> Result<(), TestCaseError> {
        for _ in 0..wakes {
            let Some(tick) = self.wheel.next_tick() else { return Ok(()) };
            self.pop(tick, usize::MAX)?;
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Insert(distance) => self.insert(self.now.saturating_add_signed(distance)),
            Step::Remove(index) => self.remove(index)?,
            Step::Pop(distance, count) => self.pop(self.now + distance, count)?,
            Step::Advance(distance) => self.pop(self.now + distance, usize::MAX)?,
            Step::Follow(wakes) => self.follow(wakes)?,
        }
        prop_assert_eq!(self.wheel.len(), self.model.len());
        prop_assert_eq!(self.wheel.is_empty(), self.model.is_empty());
        let earliest = self.model.first_key_value().map(|((tick, _), _)| *tick);
        prop_assert_eq!(self.wheel.next_tick().is_some(), earliest.is_some());
        prop_assert!(self.wheel.next_tick() <= earliest);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn fires_what_a_sorted_map_would_in_the_same_order(steps in prop::collection::vec(step(), 1..60)) {
        let mut pair = Pair::default();
        for step in steps {
            pair.step(step)?;
        }
        let (mut wakes, deadlines) = (0, pair.model.len());
        while let Some(tick) = pair.wheel.next_tick() {
            prop_assert!(tick >= pair.now, "a wake in the past");
            pair.pop(tick, usize::MAX)?;
            wakes += 1;
        }
        prop_assert!(pair.model.is_empty());
        prop_assert!(wakes <= LEVELS * deadlines, "{} wakes for {} deadlines", wakes, deadlines);
    }
}
