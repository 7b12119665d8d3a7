//! A queue that grows slowly behind a limit that does not bind.
//!
//! At just about full load the queue wanders, the base follows it, and room would be made for it without end. From
//! outside it looks like a dependency that becomes slower. What tells them apart is the spread of latencies: a
//! queue adds about the same wait to all calls of a window, slower work spreads them in proportion.

use super::decision::Rule;
use super::experiment::{DEEPEST_CUT, Point};
use super::{Knee, Mode};

/// The time constant of both means: longer than stalls are apart, which make queues that pass.
const TIME_MS: f64 = 10_000.0;
/// By so much the mean has to grow before it is judged.
const GROWTH: f64 = 2.0;
/// If the spread grew by less than this power of the growth, it was a queue.
const IN_PROPORTION: f64 = 0.5;
/// The limit that is tried then, over what is in flight, at the most.
const SHALLOWEST_CUT: f64 = 0.9;

/// Mean and spread of latencies, smoothed, and both when the mean was last judged.
#[derive(Clone, Debug, Default)]
pub struct Creep {
    mean: f64,
    spread: f64,
    known_mean: f64,
    known_spread: f64,
}

impl Creep {
    /// Forgets what was known.
    pub const fn clear(&mut self) {
        self.known_mean = 0.0;
    }

    /// Follows a window; whether the mean has grown by a queue.
    fn follow(&mut self, mean: f64, spread: f64, lasted: f64) -> bool {
        if self.known_mean == 0.0 {
            (self.mean, self.spread, self.known_mean, self.known_spread) = (mean, spread, mean, spread);
        }
        let weight = 1.0 - (-lasted / TIME_MS).exp();
        self.mean += weight * (mean - self.mean);
        self.spread += weight * (spread - self.spread);
        let growth = self.mean / self.known_mean;
        let is_queue = growth > GROWTH && self.spread < self.known_spread * growth.powf(IN_PROPORTION);
        if growth < 1.0 || (growth > GROWTH && !is_queue) {
            (self.known_mean, self.known_spread) = (self.mean, self.spread);
        }
        is_queue
    }
}

impl Knee {
    /// Follows a window in which nobody found the limit reached. If a queue has crept up, takes the base for what
    /// it was before, and tries a limit below what is in flight.
    pub(super) fn uncover(
        &mut self,
        here: Point,
        ratio: f64,
        cv2: f64,
        (opened, now): (f64, f64),
    ) -> Option<Rule> {
        let Point { inflight, mean } = here;
        if !self.probes.are_shared() || !self.creep.follow(mean, mean * cv2.sqrt(), now - opened) {
            return None;
        }
        let base = self.creep.known_mean.min(mean);
        self.baselines.scale(base * ratio / mean);
        let real_ratio = mean / base;
        let target = self.settings.queue.target(inflight / real_ratio, inflight, inflight);
        self.creep.clear();
        self.smooth = None;
        self.saved = self.limit / 1.5;
        self.experiment.clear();
        self.set(inflight * (target / real_ratio).clamp(DEEPEST_CUT, SHALLOWEST_CUT), now);
        self.mode = Mode::Verify;
        Some(Rule::Cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(spread_of: impl Fn(f64) -> f64) -> bool {
        let mut creep = Creep::default();
        (0..400).any(|window| {
            let mean = 50.0 + f64::from(window);
            creep.follow(mean, spread_of(mean), 1000.0)
        })
    }

    #[test]
    fn the_same_wait_for_all_is_a_queue() {
        assert!(grows(|_| 25.0));
    }

    #[test]
    fn latency_that_spreads_in_proportion_is_slower_work() {
        assert!(!grows(|mean| mean / 2.0));
    }

    #[test]
    fn latency_that_falls_is_neither() {
        let mut creep = Creep::default();
        assert!(!(0..400).any(|window| creep.follow(500.0 - f64::from(window), 25.0, 1000.0)));
    }
}
