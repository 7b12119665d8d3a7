//! Timers outside the core, driven by the test.

use std::collections::{BTreeMap, HashMap};

use resilience::core::clock::Nanos;
use resilience::core::slab::Key;

/// Armed timers by millisecond, then by order of arming.
#[derive(Default)]
pub struct Alarms {
    due: BTreeMap<(u64, u64), Key>,
    places: HashMap<Key, (u64, u64)>,
    armed: u64,
}

impl Alarms {
    /// Starts a timer.
    pub fn arm(&mut self, timer: Key, now: Nanos, delay_ms: f64) {
        let place = (now.plus_ms(delay_ms).ceil_ms(), self.armed);
        self.armed += 1;
        self.due.insert(place, timer);
        assert!(self.places.insert(timer, place).is_none(), "one timer armed twice");
    }

    /// Stops a timer.
    pub fn disarm(&mut self, timer: Key) {
        let place = self.places.remove(&timer).expect("only an armed timer is disarmed");
        self.due.remove(&place);
    }

    /// Takes the next timer that is due.
    pub fn pop(&mut self, now: Nanos) -> Option<Key> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 <= now.floor_ms())?;
        let timer = entry.remove();
        self.places.remove(&timer);
        Some(timer)
    }

    /// Whether no timer is armed.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }
}
