//! How long the loop has slept in all.

use crate::core::clock::Nanos;

/// Without a callback in the check phase the loop may have slept; a shorter gap says nothing.
const SHORTEST_MS: f64 = 1.0;
/// A turn with a callback in which nothing happens is no longer, also where that callback is a timer's.
const EMPTY_MS: f64 = 2.0;

/// The runtime's own measure, or where it has none (Bun, Deno) what the gate can see of it.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    own_ms: f64,
    seen_at: Nanos,
}

impl Idle {
    /// The loop's sleep until `now`. `told_ms` is the runtime's measure; without one, a gap since the last call of
    /// this counts as sleep if there was `no_callback`, and a turn in which nothing has happened if it was `empty`.
    pub fn read(&mut self, told_ms: Option<f64>, now: Nanos, gap: Gap) -> f64 {
        let passed = now.ms_since(self.seen_at);
        self.seen_at = now;
        if let Some(told_ms) = told_ms {
            return told_ms;
        }
        let slept = match gap {
            Gap::NoCallback => passed > SHORTEST_MS,
            Gap::Empty => passed < EMPTY_MS,
            Gap::Busy => false,
        };
        if slept {
            self.own_ms += passed;
        }
        self.own_ms
    }
}

/// What is known of the time since the last look at the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// No callback was due in the check phase, so the loop could sleep.
    NoCallback,
    /// One turn of the loop, in which nothing has happened that concerns the gate.
    Empty,
    /// One turn of the loop, in which something has.
    Busy,
}
