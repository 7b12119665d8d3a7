//! What the loop's turns were like for about as long as a request takes.

use crate::core::clock::Nanos;

const LEAST_MS: f64 = 20.0;
const MOST_MS: f64 = 1000.0;

/// The turns since a moment.
#[derive(Clone, Debug, Default)]
pub struct Round {
    began: Nanos,
    sum: f64,
    squares: f64,
    wasted_ms: f64,
}

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// How long it lasted.
    pub length_ms: f64,
    /// How long something that becomes ready at any moment of it waited for the loop, on average: long turns are met
    /// more often, so it is the sum of their squares over their sum.
    pub wait_ms: f64,
    /// How long the loop slept while somebody waited.
    pub wasted_ms: f64,
}

impl Round {
    /// One turn more: how long the loop was busy without a look at what is ready.
    pub fn turn(&mut self, busy_ms: f64) {
        self.sum += busy_ms;
        self.squares += busy_ms * busy_ms;
    }

    /// The loop slept while somebody waited.
    pub const fn waste(&mut self, slept_ms: f64) {
        self.wasted_ms += slept_ms;
    }

    /// Ends the round if it has lasted as long as a request takes, and begins the next one.
    pub fn end(&mut self, now: Nanos, latency_ms: f64) -> Option<Told> {
        let length_ms = now.ms_since(self.began);
        if length_ms < latency_ms.clamp(LEAST_MS, MOST_MS) {
            return None;
        }
        let wait_ms = if self.sum > 0.0 { self.squares / self.sum } else { 0.0 };
        let wasted_ms = self.wasted_ms;
        *self = Self { began: now, ..Self::default() };
        Some(Told { length_ms, wait_ms, wasted_ms })
    }
}
