//! A newcomer that is more important takes the place of who waits.

use resilience::core::clock::Nanos;
use resilience::core::effect::Reason;
use resilience::core::slab::Key;
use resilience::core::turns::answers::{Ended, Offer, Offered, Turn};
use resilience::core::turns::door::Refusals;
use resilience::core::turns::gate::Turns;

/// What a handler computes.
const COST_MS: f64 = 10.0;
/// So many may wait under overload.
const PLACES: usize = 5;
const LEAST: usize = 7;

/// A gate that knows the pace, in the middle of a turn, with a standing queue.
struct Overloaded {
    turns: Turns,
    door: Key,
    now: f64,
}

impl Overloaded {
    fn new() -> Self {
        let mut turns = Turns::default();
        let budget_ms = COST_MS * (f64::from(u32::try_from(PLACES).expect("few")) + 0.5);
        let door = turns.add_door(budget_ms, budget_ms);
        let mut gate = Self { turns, door, now: 0.0 };
        for _ in 0..200 {
            assert!(!matches!(gate.offer(LEAST), Some(Offered::Refuse(_))), "nobody waits: there is a place");
            gate.work();
        }
        gate
    }

    const fn at(&self) -> Nanos {
        Nanos::from_ms(self.now)
    }

    /// Starts all that wait, in check phases and their slices. The loop never sleeps.
    fn work(&mut self) -> Vec<Key> {
        let mut started = Vec::new();
        while self.turns.queued() > 0 {
            // Otherwise what came has to be read first.
            if self.turns.turn(Some(0.0), self.at()) == Turn::Work {
                while let Some(key) = self.turns.next(self.at()) {
                    self.now += COST_MS;
                    assert_eq!(self.turns.end(key, self.at()), Ended::Nothing);
                    started.push(key);
                }
            }
        }
        started
    }

    fn offer(&mut self, level: usize) -> Option<Offered> {
        let offer = Offer { door: self.door, level, patience_ms: f64::INFINITY };
        let offered = self.turns.offer(offer, None, self.at());
        if let Some(Offered::Start(key)) = offered {
            self.now += COST_MS;
            self.turns.end(key, self.at());
        }
        offered
    }

    fn wait(&mut self, level: usize) -> Key {
        let Some(Offered::Wait(key)) = self.offer(level) else { panic!("level {level} does not wait") };
        key
    }

    fn turned_away(&mut self) -> Vec<(Key, Reason)> {
        std::iter::from_fn(|| self.turns.take_refused()).collect()
    }
}

#[test]
fn the_newest_of_the_least_important_ones_is_dropped() {
    let mut gate = Overloaded::new();
    let before = gate.turns.refusals(gate.door);
    let [first, second, third] = [LEAST; 3].map(|level| gate.wait(level));
    let [fourth, fifth] = [5; 2].map(|level| gate.wait(level));
    assert_eq!(gate.turned_away(), []);
    let sixth = gate.wait(0);
    assert_eq!(gate.turned_away(), [(third, Reason::Dropped)]);
    let seventh = gate.wait(0);
    assert_eq!(gate.turned_away(), [(second, Reason::Dropped)]);
    assert_eq!(gate.turns.queued(), PLACES);
    let Refusals { dropped, full, .. } = gate.turns.refusals(gate.door);
    assert_eq!((dropped - before.dropped, full - before.full), (2, 0));
    assert_eq!(gate.work(), [sixth, seventh, fourth, fifth, first]);
    assert_eq!((gate.turns.untold(), gate.turns.open()), (0, 0));
}

#[test]
fn nobody_is_dropped_for_one_of_the_same_importance_or_of_less() {
    let mut gate = Overloaded::new();
    while let Some(Offered::Wait(_)) = gate.offer(3) {}
    let queued = gate.turns.queued();
    for level in [3, 4, LEAST] {
        assert!(matches!(gate.offer(level), Some(Offered::Refuse(delay_ms)) if delay_ms > 0.0), "level {level}");
    }
    assert_eq!(gate.turned_away(), []);
    assert_eq!(gate.turns.queued(), queued);
}

/// Its owner ends it as if it had not heard: nothing is counted twice, and nobody else is told of it.
#[test]
fn one_that_was_dropped_may_leave_before_it_is_told() {
    let mut gate = Overloaded::new();
    let waiting = [LEAST; PLACES].map(|level| gate.wait(level));
    gate.wait(0);
    assert_eq!(gate.turns.untold(), 1);
    assert_eq!(gate.turns.end(waiting[PLACES - 1], gate.at()), Ended::Nothing);
    assert_eq!(gate.turned_away(), []);
    assert_eq!((gate.turns.queued(), gate.turns.open()), (PLACES, PLACES));
}
