//! Grows and trims a limit that binds.

use super::decision::Rule;
use super::experiment::{CUT_THRESHOLD, DEEPEST_CUT};
use super::window::Seen;
use super::{Knee, Latency, Mode};

/// Small steps are the ratio to this power: several windows close a gap, so noise does not.
const GAIN: f64 = 0.35;
/// Windows in a row without a queue before the limit grows by half at a time.
const STREAK: u32 = 3;

/// Doubling, from a cold start until throughput follows no more.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Whether it goes on.
    pub active: bool,
    inflight: f64,
    mean: f64,
}

impl Default for SlowStart {
    fn default() -> Self {
        Self { active: true, inflight: 0.0, mean: 0.0 }
    }
}

/// A run of windows without a queue.
#[derive(Clone, Debug, Default)]
pub struct Streak(u32);

impl Streak {
    /// As if it had lasted long enough.
    pub const fn begin(&mut self) {
        self.0 = STREAK;
    }

    /// Ends it.
    pub const fn end(&mut self) {
        self.0 = 0;
    }

    /// Whether there is none.
    pub const fn is_over(&self) -> bool {
        self.0 == 0
    }
}

impl Knee {
    /// Moves the limit towards the target, by a window that has lasted since the limit has bound for `held`.
    pub(super) fn steer(&mut self, seen: &Seen, latency: &Latency, smooth: f64, held: f64, now: f64) -> Rule {
        let Latency { mean, ratio, target, .. } = *latency;
        let (room, smooth_room) = (target / ratio, target / smooth);
        let is_clear = smooth < 1.0 + 0.3 * (target - 1.0) && ratio < target;
        let has_room = room >= 1.0 || room > CUT_THRESHOLD && smooth_room >= 1.0;
        if seen.binds_at_all && (self.slow_start.active || has_room) {
            if self.slow_start.active {
                return self.double(seen, ratio, mean, now);
            }
            if self.streak.0 >= STREAK {
                if ratio < 1.0 + 0.5 * (target - 1.0) {
                    self.set(self.limit * 1.5, now);
                    return Rule::Grow;
                }
                self.streak.end();
            } else if held >= 2.0 * mean {
                self.streak.0 = if is_clear { self.streak.0 + 1 } else { 0 };
                self.set(self.limit * smooth_room.min(1.5).powf(GAIN), now);
                return if smooth_room < 1.0 { Rule::Trim } else { Rule::Grow };
            }
        } else if seen.binds {
            self.streak.end();
            if room < CUT_THRESHOLD {
                self.smooth = None;
                self.probes.hasten(now, mean);
                self.experiment.clear();
                self.saved = self.limit;
                self.set(self.limit * room.max(DEEPEST_CUT), now);
                self.mode = Mode::Verify;
                return Rule::Cut;
            }
            self.set(self.limit * smooth_room.min(1.0).powf(GAIN), now);
            return Rule::Trim;
        }
        Rule::Hold
    }

    /// A step of slow start.
    fn double(&mut self, seen: &Seen, ratio: f64, mean: f64, now: f64) -> Rule {
        let start = &self.slow_start;
        let has_risen = start.inflight > 0.0 && seen.inflight / start.inflight > 1.3;
        let elasticity =
            if has_risen { 1.0 - (mean / start.mean).ln() / (seen.inflight / start.inflight).ln() } else { 1.0 };
        if elasticity <= 0.4 || (ratio >= 1.35 && !has_risen) {
            self.slow_start.active = false;
            return Rule::Hold;
        }
        if ratio > 1.0 && has_risen && elasticity > 0.75 {
            // Slower with more throughput: that is no queue.
            self.baselines.learn(0.5, ratio);
            self.smooth = None;
        }
        self.slow_start = SlowStart { active: true, inflight: seen.inflight, mean };
        self.set(self.limit * 2.0, now);
        Rule::Grow
    }
}
