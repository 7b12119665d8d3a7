//! How busy a request keeps the loop in all, whenever that is: before its I/O, between, or after.

use crate::core::clock::Nanos;

const TAU_MS: f64 = 1000.0;
/// So much of what the loop did between two looks counts in any case; of more, only what the requests that started
/// and ended meanwhile explain.
const UNEXPLAINED_MS: f64 = 50.0;
/// How many times their mean cost requests explain.
const EXPLAINED: f64 = 2.0;
/// As long as fewer requests have ended, everything counts.
const WARM: u32 = 32;
/// A request is counted by half when it starts, and by half when it ends.
const HALF: f64 = 0.5;

/// Busy time over requests, exponentially weighted.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    busy_ms: f64,
    requests: f64,
    /// Requests since the last look.
    recent: f64,
    ended: u32,
    /// How many had ended at the last look, up to [`WARM`].
    warmth: u32,
    /// The moment of the last look, and how long the loop had slept until then.
    looked: Option<(Nanos, f64)>,
}

impl Cost {
    /// Milliseconds a request; 0 as long as nothing is known.
    #[must_use]
    pub fn get(&self) -> f64 {
        if self.requests > 0.0 { self.busy_ms / self.requests } else { 0.0 }
    }

    /// A request has started.
    pub fn started(&mut self) {
        self.requests += HALF;
        self.recent += HALF;
    }

    /// A request has ended.
    pub fn ended(&mut self) {
        self.requests += HALF;
        self.recent += HALF;
        self.ended = self.ended.saturating_add(1);
    }

    /// No request is under way: what the loop has done since the last look was for others, but for what those cost
    /// that have ended since.
    pub fn skip(&mut self, now: Nanos, idle_ms: f64) {
        self.count(now, idle_ms, self.recent * self.get());
    }

    /// Counts what the loop did since the last look.
    pub fn look(&mut self, now: Nanos, idle_ms: f64) {
        self.count(now, idle_ms, UNEXPLAINED_MS + EXPLAINED * self.recent * self.get());
    }

    fn count(&mut self, now: Nanos, idle_ms: f64, most_ms: f64) {
        if let Some((at, idle_at)) = self.looked {
            let passed = now.ms_since(at);
            let busy = (passed - (idle_ms - idle_at)).max(0.0);
            let fade = (-passed / TAU_MS).exp();
            let most_ms = if self.warmth < WARM { f64::INFINITY } else { most_ms };
            self.busy_ms = self.busy_ms * fade + busy.min(most_ms);
            self.requests *= fade;
        }
        self.warmth = self.warmth.saturating_add(self.ended).min(WARM);
        self.recent = 0.0;
        self.ended = 0;
        self.looked = Some((now, idle_ms));
    }
}
