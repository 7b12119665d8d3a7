//! A short drain, to measure the base latency.

use super::decision::Rule;
use super::experiment::Point;
use super::moments::Moments;
use super::window::Seen;
use super::{Knee, Latency, Mode};

/// How much of what is being served may stay in flight: no queue is left then.
const DEPTH: f64 = 0.75;
/// The weight of a measurement that is close to what was known.
const WEIGHT: f64 = 0.3;
/// The weight of one that is far above, for a limiter that shares the dependency.
const WEIGHT_IF_HIGHER: f64 = 0.5;
/// Of the time, about 1 % is spent on probes.
const INTERVAL: f64 = 100.0;
/// After a base that has moved by more than this (as a logarithm), the next probe is soon.
const MOVED: f64 = 0.15;
const INTERVAL_IF_MOVED: f64 = 5.0;
/// A target below this share of the ratio, for all the small cuts, calls for an experiment instead.
const STAYS_HIGH: f64 = 0.87;
/// Samples that are worth a measurement when a probe in common is over.
const LEAST_SAMPLES: f64 = 8.0;

/// When to probe.
#[derive(Clone, Debug)]
pub struct Probes {
    /// In common with other limiters; `None` for one that is alone.
    moments: Option<Moments>,
    /// The next one is due then; `None` before the first was wanted.
    pub next: Option<f64>,
    /// What a probe in common begins from.
    ready: Option<Ready>,
    /// The present one, if in common, lasts until then.
    until: f64,
    /// Before this none is hastened.
    earliest: f64,
    /// By how much the present chain of probes has moved the base.
    factor: f64,
}

/// A limiter in a steady state.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The mean in flight.
    pub inflight: f64,
    /// The mean latency.
    pub mean: f64,
    /// The same, over the base.
    pub ratio: f64,
    /// The ratio that is aimed at, over the smoothed one.
    pub room: f64,
}

impl Default for Probes {
    fn default() -> Self {
        Self { moments: None, next: None, ready: None, until: 0.0, earliest: 0.0, factor: 1.0 }
    }
}

impl Probes {
    /// Has the probes begin at moments in common.
    pub const fn share(&mut self, moments: Moments) {
        self.moments = Some(moments);
    }

    /// Has time zero of the limiter be at `started` by the clock of its samples.
    pub fn shift(&mut self, started: f64) {
        if let Some(moments) = &mut self.moments {
            moments.offset += started;
        }
    }

    /// Whether they do.
    pub const fn are_shared(&self) -> bool {
        self.moments.is_some()
    }

    /// Brings the next probe forward, to 20 flights from now.
    pub fn hasten(&mut self, now: f64, mean: f64) {
        if self.moments.is_none() {
            let soon = (now + 20.0 * mean).max(self.earliest);
            self.next = self.next.map(|next| next.min(soon));
        }
    }

    /// What a probe in common begins from, if its moment has come.
    pub fn take_due(&mut self, now: f64) -> Option<Ready> {
        if self.next.is_some_and(|next| now >= next) { self.ready.take() } else { None }
    }

    /// The state is no longer steady.
    pub const fn stand_down(&mut self) {
        self.ready = None;
    }

    /// Whether a probe in common is over, with so many samples.
    pub fn is_over(&self, now: f64, answered: f64) -> bool {
        self.are_shared() && now >= self.until && answered >= LEAST_SAMPLES
    }

    fn begin(&mut self, now: f64, mean: f64) {
        self.factor = 1.0;
        self.until = now;
        if self.moments.is_some() {
            self.until += Moments::length(mean);
        }
    }

    fn end(&mut self, now: f64, lasted: f64, mean: f64) {
        let has_moved = self.factor.ln().abs() > MOVED;
        let interval = if has_moved { INTERVAL_IF_MOVED } else { INTERVAL } * lasted;
        self.next = Some(self.moments.map_or(now + interval, |moments| moments.next(now, mean)));
        self.earliest = now + interval.min(30.0 * lasted);
    }
}

impl Knee {
    /// Probes a limiter in a steady state, if it is time. One that shares moments waits for the next of these.
    pub(super) fn explore_if_due(&mut self, ready: Ready, now: f64) -> Option<Rule> {
        let Probes { moments, next, .. } = self.probes;
        let Some(moments) = moments else {
            return next.is_none_or(|next| now >= next).then(|| self.explore(ready, now));
        };
        self.probes.next = next.or_else(|| Some(moments.first(now, ready.mean)));
        self.probes.ready = Some(ready);
        None
    }

    /// Looks what a lower limit does. If latency is high in spite of small cuts, that is an experiment, else a
    /// probe.
    pub(super) fn explore(&mut self, ready: Ready, now: f64) -> Rule {
        let Ready { inflight, mean, ratio, room } = ready;
        self.saved = self.limit;
        let later = now + 20.0 * mean;
        self.probes.next = Some(self.probes.moments.map_or(later, |moments| moments.next(later, mean)));
        if room < STAYS_HIGH {
            return self.experiment(Point { inflight, mean }, now);
        }
        let served = inflight / ratio.max(1.0);
        let drained = (DEPTH * served).max(0.35 * inflight).floor().max(1.0);
        self.mode = Mode::Probe;
        self.probes.begin(now, mean);
        self.set(drained.min(0.8 * self.limit), now);
        // Also where the limit could go no lower.
        self.changed = now;
        Rule::Probe
    }

    /// Takes the measurement; goes deeper while latency falls, else back to where the limit was.
    ///
    /// A base that is too high is lowered at once. One that is too low is raised at once only by a limiter that
    /// is alone: what was measured may be the queue of others who did not drain.
    pub(super) fn conclude_probe(&mut self, seen: &Seen, latency: &Latency, now: f64) -> Rule {
        let Latency { mean, ratio, cv2, .. } = *latency;
        let noise = 2.0 * (cv2 / seen.answered).sqrt();
        let is_lower = ratio < 0.85_f64.min((-noise).exp());
        let is_higher = ratio > 1.3_f64.max(noise.exp());
        let weight = match (is_lower, is_higher) {
            (true, _) => 1.0,
            (_, true) if self.probes.are_shared() => WEIGHT_IF_HIGHER,
            (_, true) => 1.0,
            _ => WEIGHT,
        };
        self.baselines.learn(weight, ratio);
        self.probes.factor *= 1.0 + weight * (ratio - 1.0);
        if is_lower && self.limit > self.range.min.max(1.0) {
            self.set((DEPTH * seen.inflight).floor().max(1.0), now);
            return Rule::ProbeDeeper;
        }
        if now < self.probes.until {
            return Rule::Hold;
        }
        self.mode = Mode::Run;
        self.probes.end(now, now - self.changed, mean);
        self.set(self.saved * self.probes.factor, now);
        self.smooth = None;
        Rule::ProbeEnd
    }
}
