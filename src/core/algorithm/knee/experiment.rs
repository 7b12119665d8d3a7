//! A cut is an experiment: it tells a queue from a dependency that has become slower.

use super::decision::Rule;
use super::window::Seen;
use super::{Knee, Latency, Mode};

/// No cut is deeper than to this share of the limit.
pub const DEEPEST_CUT: f64 = 0.6;
/// A target over the ratio below this calls for a deep cut.
pub const CUT_THRESHOLD: f64 = 0.7;
/// From this elasticity on, throughput follows what is in flight: there is no queue.
const NO_QUEUE: f64 = 0.65;

/// Where the limit stood before the cut that is being judged.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    limit: f64,
    reference: Option<Point>,
}

/// What a window measured.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The mean in flight.
    pub inflight: f64,
    /// The mean latency.
    pub mean: f64,
}

/// How throughput answers to what is in flight, from one point to another: 0 if all that was taken away had
/// only waited, 1 if all of it was being served. `None` if too little was taken away to tell.
fn elasticity(from: Point, to: Point) -> Option<f64> {
    let fall = (to.inflight / from.inflight).ln();
    (fall < -0.1).then(|| 1.0 - (to.mean / from.mean).ln() / fall)
}

impl Experiment {
    /// Forgets the reference: the first deep cut begins at a point that is no steady state.
    pub const fn clear(&mut self) {
        self.reference = None;
    }

    /// Remembers a point to compare with.
    pub const fn set(&mut self, limit: f64, point: Point) {
        self.limit = limit;
        self.reference = Some(point);
    }
}

impl Knee {
    /// Begins one, because latency has stayed high in spite of small cuts.
    pub(super) fn experiment(&mut self, here: Point, now: f64) -> Rule {
        self.experiment.set(self.limit, here);
        self.mode = Mode::Verify;
        self.set(self.limit * DEEPEST_CUT, now);
        Rule::Cut
    }

    /// Judges the last cut, and cuts on where the queue is still long; `None` if there is no more to do.
    pub(super) fn conclude_experiment(&mut self, seen: &Seen, latency: &Latency, now: f64) -> Option<Rule> {
        let Latency { mean, ratio, target, .. } = *latency;
        let here = Point { inflight: seen.inflight, mean };
        self.mode = Mode::Run;
        if let Some(reference) = self.experiment.reference {
            let has_no_queue = elasticity(reference, here).is_some_and(|elasticity| elasticity > NO_QUEUE);
            if has_no_queue && ratio > target {
                self.baselines.learn(1.0, ratio);
                self.streak.begin();
                self.set(self.saved * 1.5, now);
                return Some(Rule::Undo);
            }
            // There was a queue at that limit: never back above it.
            self.saved = self.experiment.limit;
        }
        let depth = target / ratio;
        if depth >= CUT_THRESHOLD {
            return None;
        }
        self.streak.end();
        self.experiment.set(self.limit, here);
        self.set(self.limit * depth.max(DEEPEST_CUT), now);
        self.mode = Mode::Verify;
        Some(Rule::Cut)
    }
}
