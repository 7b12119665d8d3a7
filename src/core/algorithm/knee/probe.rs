//! A short drain, to measure the base latency.

use super::decision::Rule;
use super::window::Seen;
use super::{Knee, Latency, Mode, Range};
use crate::core::random::Random;

/// How much of what is being served may stay in flight: no queue is left then.
const DEPTH: f64 = 0.75;
/// The weight of a measurement that is close to what was known.
const WEIGHT: f64 = 0.3;
/// Of the time, about 1 % is spent on probes.
const INTERVAL: f64 = 100.0;
/// After a base that has moved by more than this (as a logarithm), the next probe is soon.
const MOVED: f64 = 0.15;
const INTERVAL_IF_MOVED: f64 = 5.0;

/// When to probe.
#[derive(Clone, Debug)]
pub struct Probes {
    /// The next one is due then.
    pub next: f64,
    /// Spreads them; `None` for exact intervals.
    random: Option<Random>,
    /// Before this none is hastened.
    earliest: f64,
    /// By how much the present chain of probes has moved the base.
    factor: f64,
}

impl Default for Probes {
    fn default() -> Self {
        Self { next: 0.0, random: None, earliest: 0.0, factor: 1.0 }
    }
}

impl Probes {
    /// Probes at intervals spread by `random`.
    pub fn spread(random: Random) -> Self {
        Self { random: Some(random), ..Self::default() }
    }

    /// Brings the next probe forward, to 20 flights from now.
    pub fn hasten(&mut self, now: f64, mean: f64) {
        self.next = self.next.min((now + 20.0 * mean).max(self.earliest));
    }

    fn schedule(&mut self, now: f64, lasted: f64) {
        let flights = if self.factor.ln().abs() > MOVED { INTERVAL_IF_MOVED } else { INTERVAL };
        let interval = flights * lasted;
        let spread = self.random.as_mut().map_or(1.0, |random| 0.85 + 0.3 * random.unit());
        self.next = now + interval * spread;
        self.earliest = now + interval.min(30.0 * lasted);
    }
}

impl Knee {
    /// Begins one.
    pub(super) fn probe(&mut self, seen: &Seen, ratio: f64, now: f64, range: Range) -> Rule {
        let served = seen.inflight / ratio.max(1.0);
        let drained = (DEPTH * served).max(0.35 * seen.inflight).floor().max(1.0);
        self.mode = Mode::Probe;
        self.probes.factor = 1.0;
        self.set(drained.min(0.8 * self.limit), range, now);
        // Also where the limit could go no lower.
        self.changed = now;
        Rule::Probe
    }

    /// Takes the measurement; goes deeper while latency falls, else back to where the limit was.
    pub(super) fn conclude_probe(&mut self, seen: &Seen, latency: &Latency, now: f64, range: Range) -> Rule {
        let Latency { ratio, cv2, .. } = *latency;
        let noise = 2.0 * (cv2 / seen.answered).sqrt();
        let is_lower = ratio < 0.85_f64.min((-noise).exp());
        let is_higher = ratio > 1.3_f64.max(noise.exp());
        let weight = if is_lower || is_higher { 1.0 } else { WEIGHT };
        self.baselines.learn(weight, ratio);
        self.probes.factor *= 1.0 + weight * (ratio - 1.0);
        if is_lower && self.limit > range.min.max(1.0) {
            self.set((DEPTH * seen.inflight).floor().max(1.0), range, now);
            return Rule::ProbeDeeper;
        }
        self.mode = Mode::Run;
        self.probes.schedule(now, now - self.changed);
        self.set(self.saved * self.probes.factor, range, now);
        self.smooth = None;
        Rule::ProbeEnd
    }
}
