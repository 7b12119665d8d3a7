//! Drops: what a cut does to them tells whether the load causes them.

use super::decision::Rule;
use super::window::Seen;
use super::{Knee, Latency, Mode};

/// From this share of drops on the dependency is taken to be gone.
const OUTAGE: f64 = 0.9;
/// How far the share may be above what is not ours.
const TOLERATED: f64 = 0.25;

/// What is known of drops.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// The share that no limit of ours has lowered.
    pub floor: f64,
    /// The share before the cut that is being judged.
    before: f64,
    /// The limit before an outage.
    outage_limit: f64,
}

impl Knee {
    /// Acts on drops; `None` if they say nothing.
    pub(super) fn judge_loss(&mut self, seen: &Seen, now: f64) -> Option<Rule> {
        let share = seen.drops;
        let was_cut = self.mode == Mode::Loss;
        if was_cut {
            self.mode = Mode::Run;
            if share > 0.7 * self.losses.before && share < OUTAGE {
                self.losses.floor = share;
                self.set(self.saved, now);
                return Some(Rule::LossNotOurs);
            }
            self.losses.floor = self.losses.floor.min(share);
        }
        if share <= self.losses.floor + TOLERATED {
            return None;
        }
        self.streak.end();
        self.slow_start.active = false;
        self.smooth = None;
        if share < OUTAGE && self.mode != Mode::Recover {
            self.mode = Mode::Loss;
            self.losses.before = share;
            self.saved = self.limit;
            self.set(self.limit * (1.0 - share).max(0.3), now);
            return Some(Rule::LossCut);
        }
        if self.mode != Mode::Recover {
            self.losses.outage_limit = if was_cut { self.saved } else { self.limit };
            self.mode = Mode::Recover;
        }
        self.set(self.limit * 0.5, now);
        Some(Rule::Outage)
    }

    /// Comes back from an outage: doubles up to the old limit while there is no queue.
    pub(super) fn recover(&mut self, seen: &Seen, latency: &Latency, now: f64) -> Rule {
        let noise = (2.0 * self.cv / seen.answered.sqrt()).exp();
        let is_clear = latency.ratio <= latency.target * noise;
        if !is_clear || self.limit * 2.0 >= self.losses.outage_limit {
            self.mode = Mode::Run;
        }
        if !is_clear {
            return Rule::Hold;
        }
        self.set((self.limit * 2.0).min(self.losses.outage_limit.max(self.limit)), now);
        Rule::Recover
    }
}
