//! A limit that does not bind is lifted ahead of time, and the base follows what latency is then.

use super::Knee;
use super::window::Seen;

/// The limit is quiet when it has not bound for this long, and for as many flights.
const QUIET_MS: f64 = 2_000.0;
const QUIET_FLIGHTS: f64 = 20.0;
/// The time constant by which the base follows.
const TRACKING_MS: f64 = 20_000.0;
/// The highest load of two such spans counts.
const SPAN_MS: f64 = 10_000.0;

/// What a quiet limiter has seen.
#[derive(Clone, Debug, Default)]
pub struct Headroom {
    /// The highest mean in flight of this span, and of the one before.
    peak: f64,
    previous_peak: f64,
    span_began: f64,
    /// The mean in flight of the last window.
    last_inflight: f64,
    /// Windows that the base has followed.
    followed: f64,
}

impl Headroom {
    /// Notes a window's mean in flight; gives that of the window before.
    pub const fn swap_inflight(&mut self, inflight: f64) -> f64 {
        std::mem::replace(&mut self.last_inflight, inflight)
    }
}

impl Knee {
    /// Whether the limit has not bound for a while.
    pub(super) fn is_quiet(&self, mean: f64, now: f64) -> bool {
        now - self.last_bound > (QUIET_FLIGHTS * mean).max(QUIET_MS)
    }

    /// Follows a window of a quiet limiter; whether that moved the limit.
    ///
    /// Such a move is none that samples have to wait for: the traffic does not feel it.
    pub(super) fn lift(&mut self, seen: &Seen, ratio: f64, previous: f64, now: f64) -> bool {
        self.headroom.followed += 1.0;
        let lasted = (now - seen.opened).min(TRACKING_MS);
        let weight = (1.0 / (self.headroom.followed + 1.0)).max(1.0 - (-lasted / TRACKING_MS).exp());
        self.baselines.learn(weight, ratio);
        if ratio >= 1.5 {
            return false;
        }
        if now - self.headroom.span_began > SPAN_MS {
            self.headroom.previous_peak = std::mem::take(&mut self.headroom.peak);
            self.headroom.span_began = now;
        }
        // The lower of two windows: one burst is no reason.
        self.headroom.peak = self.headroom.peak.max(seen.inflight.min(previous) - 1.0);
        let peak = self.headroom.peak.max(self.headroom.previous_peak);
        let wanted = self.settings.headroom * (1.0 + self.cv) * peak;
        if wanted > self.limit {
            self.limit = wanted.min(1.2 * self.limit).min(self.range.max);
        } else if self.limit > 2.5 * wanted.max(self.range.initial) {
            self.limit *= 0.97;
        } else {
            return false;
        }
        true
    }
}
