//! The mean queue held near a few calls, wherever the limit for that lies.
//!
//! By Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961) the number of calls in
//! flight is throughput times latency. With `base` for the latency without a queue, `served = in flight * base /
//! latency` calls are being worked on and the rest wait. The controller steers that rest, the mean queue, to a
//! [`target`] of a few calls: the knee of the curve, where throughput is all there and latency is not yet up.
//!
//! Nothing tells the base latency, and everything in the parts below is there because of that:
//!
//! - [`window`]: means, over samples that ended only after the last change had taken effect. One change a flight.
//! - [`baseline`]: the base latency, one for each kind of operation.
//! - [`probe`]: measures the base now and then, by a short drain. It is never a minimum, so no lucky call spoils
//!   it, and it cannot drift up with the queue that the limit causes.
//! - [`moments`]: limiters of one dependency probe at the same time, or each would measure the others' queues.
//! - [`experiment`]: after a deep cut, either latency fell with the load and there was a queue, or it stayed and
//!   the dependency has become slower: that is the new base, and the limit goes back up.
//! - [`steer`]: grows and trims a limit that binds.
//! - [`headroom`]: lifts one that does not ahead of time, so that a slower dependency or another mix of calls
//!   fits without a rejection.
//! - [`creep`]: tells a queue that grows slowly behind such a limit from a slower dependency.
//! - [`loss`]: drops are a second signal with an experiment of its own: if a cut does not lower the loss, the
//!   loss is not ours.
//!
//! There is no timer: a window closes with a sample, and idle time needs no care. Times are milliseconds since
//! the first sample's start.

mod baseline;
mod complete;
mod creep;
pub mod decision;
mod experiment;
mod headroom;
mod loss;
mod moments;
mod probe;
pub mod settings;
mod steer;
pub mod target;
mod window;

use super::{LimitAlgorithm, Sample};
use baseline::Baselines;
use creep::Creep;
use decision::{Decision, Rule};
use experiment::{Experiment, Point};
use headroom::Headroom;
use loss::Losses;
use moments::Moments;
use probe::{Probes, Ready};
use settings::{Range, Settings};
use steer::{SlowStart, Streak};
use window::{Seen, Window};

/// The shortest latency that is told apart from none.
const MIN_RTT_MS: f64 = 0.001;
/// Before the first change, the last one counts as this long ago.
const LONG_AGO_MS: f64 = -1000.0;
/// Smoothed, a ratio below this means that the base is out of date.
const STALE: f64 = 0.88;
/// A single mean below this share of the base is no noise either.
const OUT_OF_DATE: f64 = 0.7;
/// The weight of a window in the smoothed ratio, and in the smoothed coefficient of variation.
const SMOOTHING: f64 = 0.3;
const CV_WEIGHT: f64 = 0.1;
/// A limit that has bound for so many flights is held; one that has not for as many is free.
const HELD_FLIGHTS: f64 = 10.0;

/// What the controller is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Steering.
    Run,
    /// Waiting for what a deep cut shows.
    Verify,
    /// Draining, to measure the base.
    Probe,
    /// Waiting for what a cut after drops shows.
    Loss,
    /// Nearly everything was dropped, or is coming back after that.
    Recover,
}

/// What a window says of latency.
#[derive(Clone, Copy, Debug)]
struct Latency {
    /// The mean.
    mean: f64,
    /// The mean over the base.
    ratio: f64,
    /// The ratio that means the queue aimed at.
    target: f64,
    /// The squared coefficient of variation of single calls.
    cv2: f64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Knee {
    settings: Settings,
    range: Range,
    /// Zero before the first sample of a controller that nobody gave a range.
    limit: f64,
    mode: Mode,
    window: Window,
    baselines: Baselines,
    /// When the first sampled call started; times count from here.
    epoch: Option<f64>,
    /// When the limit last changed.
    changed: f64,
    /// The mean latency of the last window, zero before there was one.
    last_mean: f64,
    /// The smoothed ratio; `None` while the old ones say nothing.
    smooth: Option<f64>,
    /// The smoothed coefficient of variation.
    cv: f64,
    /// Since when the limit binds.
    bound_since: f64,
    /// When it last did.
    last_bound: f64,
    /// The limit to go back to, after a probe or an experiment.
    saved: f64,
    slow_start: SlowStart,
    streak: Streak,
    experiment: Experiment,
    probes: Probes,
    losses: Losses,
    headroom: Headroom,
    creep: Creep,
    /// Boxed because it is there for a moment only, once a window.
    decision: Option<Box<Decision>>,
}

impl Knee {
    /// A controller that begins at the limit of its first sample, and goes nowhere below 1.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            range: Range { initial: 0.0, min: 1.0, max: f64::MAX },
            limit: 0.0,
            mode: Mode::Run,
            window: Window::at(f64::NEG_INFINITY),
            baselines: Baselines::default(),
            epoch: None,
            changed: LONG_AGO_MS,
            last_mean: 0.0,
            smooth: None,
            cv: 0.5,
            bound_since: LONG_AGO_MS,
            last_bound: LONG_AGO_MS,
            saved: 0.0,
            slow_start: SlowStart::default(),
            streak: Streak::default(),
            experiment: Experiment::default(),
            probes: Probes::default(),
            losses: Losses::default(),
            headroom: Headroom::default(),
            creep: Creep::default(),
            decision: None,
        }
    }

    /// The same options, without what was learned.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::new(self.settings)
    }

    /// Probes when others do whose samples' clocks, with their own `offset` in milliseconds added, read the same.
    /// Limiters that share a dependency would else measure each other's queues.
    pub const fn share_clock(&mut self, offset: f64) {
        self.probes.share(Moments { offset });
    }

    /// Sets where the limit begins and may go.
    pub const fn keep_within(&mut self, range: Range) {
        self.range = range;
        self.limit = range.initial;
    }

    /// What the last sample's window brought, once.
    pub fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take().map(|decision| *decision)
    }

    /// Times count from here.
    fn begin(&mut self, started: f64) -> f64 {
        self.probes.shift(started);
        *self.epoch.insert(started)
    }

    /// Moves the limit, and has the samples that follow wait for the effect.
    fn set(&mut self, limit: f64, now: f64) {
        // No `clamp`: what is not a number becomes the lowest limit.
        let limit = limit.max(self.range.min).min(self.range.max);
        if limit.total_cmp(&self.limit).is_ne() {
            self.limit = limit;
            self.changed = now;
        }
    }

    /// Takes a sample at `now`; the rule by which its window was decided, if it ended one.
    fn observe(&mut self, sample: &Sample, now: f64, started: f64) -> Option<(Seen, Rule)> {
        let settle = match self.mode {
            Mode::Recover => 0.0,
            _ if self.slow_start.active => 1.0,
            _ => 2.0,
        };
        if now < self.changed + settle * self.last_mean || (sample.dropped && started < self.changed) {
            return None;
        }
        if self.window.opened < self.changed {
            self.open(now);
        }
        if sample.dropped {
            self.window.drops += 1.0;
        } else {
            let rtt = sample.rtt_ms.max(MIN_RTT_MS);
            let base = self.baselines.add(sample.operation, rtt);
            self.window.add(rtt, base);
        }
        self.window.add_inflight(f64::from(sample.inflight), self.limit);
        if self.mode == Mode::Run
            && let Some(ready) = self.probes.take_due(now)
        {
            let seen = self.window.seen();
            return Some((seen, self.explore(ready, now)));
        }
        if !self.is_complete(now) {
            return None;
        }
        let seen = self.window.seen();
        let rule = self.close(&seen, now);
        self.open(now);
        Some((seen, rule))
    }

    fn open(&mut self, now: f64) {
        self.window = Window::at(now);
        self.baselines.open();
    }

    /// Decides on the limit by a window that ends `now`.
    fn close(&mut self, seen: &Seen, now: f64) -> Rule {
        if seen.binds_at_all {
            if now - self.last_bound > HELD_FLIGHTS * self.last_mean {
                self.bound_since = seen.opened;
            }
            self.last_bound = now;
        }
        if let Some(rule) = self.judge_loss(seen, now) {
            return rule;
        }
        if seen.answered < 1.0 {
            return Rule::Hold;
        }
        let (mean, ratio) = (seen.mean, seen.ratio);
        self.last_mean = mean;
        let served = seen.inflight / ratio.max(1.0);
        let target = self.settings.queue.target(served, seen.inflight, self.limit);
        let latency = Latency { mean, ratio, target, cv2: seen.cv2 };
        if self.mode == Mode::Recover {
            return self.recover(seen, &latency, now);
        }
        self.cv += CV_WEIGHT * (latency.cv2.sqrt() - self.cv);
        let previous = self.headroom.swap_inflight(seen.inflight);
        let concluded = match self.mode {
            Mode::Verify => self.conclude_experiment(seen, &latency, now),
            Mode::Probe => Some(self.conclude_probe(seen, &latency, now)),
            _ => None,
        };
        concluded.unwrap_or_else(|| self.run(seen, &latency, previous, now))
    }

    /// The steady state: steers, then probes a limit that binds, and lifts one that does not.
    fn run(&mut self, seen: &Seen, latency: &Latency, previous: f64, now: f64) -> Rule {
        let mut latency = *latency;
        if self.probes.are_shared() && latency.ratio < OUT_OF_DATE {
            // The base has been measured with the queues of others in it, which have drained.
            self.baselines.learn(1.0, latency.ratio);
            latency.ratio = 1.0;
            self.smooth = None;
        }
        let Latency { ratio, mean, .. } = latency;
        let smooth = self.smooth.map_or(ratio, |smooth| smooth + SMOOTHING * (ratio - smooth));
        self.smooth = Some(smooth);
        if seen.binds_at_all && smooth < STALE {
            self.probes.hasten(now, mean);
        }
        let held = now - self.bound_since;
        self.probes.stand_down();
        let rule = self.steer(seen, &latency, smooth, held, now);
        if rule == Rule::Cut {
            return rule;
        }
        if !seen.binds_at_all {
            if now - self.changed > HELD_FLIGHTS * mean {
                self.streak.end();
                self.slow_start.active = false;
            }
            if !self.is_quiet(mean, now) {
                return rule;
            }
            let here = Point { inflight: seen.inflight, mean };
            return self
                .uncover(here, ratio, latency.cv2, (seen.opened, now))
                .unwrap_or_else(|| if self.lift(seen, ratio, previous, now) { Rule::Headroom } else { rule });
        }
        if self.streak.is_over() && held >= HELD_FLIGHTS * mean {
            let ready = Ready { inflight: seen.inflight, mean, ratio, room: latency.target / smooth };
            return self.explore_if_due(ready, now).unwrap_or(rule);
        }
        rule
    }
}

impl Default for Knee {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl LimitAlgorithm for Knee {
    fn on_sample(&mut self, sample: Sample) -> f64 {
        if self.limit == 0.0 {
            self.limit = sample.limit.max(self.range.min);
            self.range.initial = self.limit;
        }
        if !(sample.rtt_ms.is_finite() && sample.now_ms.is_finite() && sample.started_ms.is_finite()) {
            return self.limit;
        }
        let epoch = self.epoch.unwrap_or_else(|| self.begin(sample.started_ms));
        let (now, started) = (sample.now_ms - epoch, sample.started_ms - epoch);
        let old = self.limit;
        let decision = self.observe(&sample, now, started).map(|(seen, rule)| Decision {
            rule,
            inflight: seen.inflight,
            latency_ratio: seen.ratio,
            target: self.settings.queue.target(seen.inflight / seen.ratio.max(1.0), seen.inflight, old),
            drops: seen.drops,
            old_limit: old,
            new_limit: self.limit,
        });
        self.decision = decision.map(Box::new);
        self.limit
    }
}

#[cfg(test)]
mod tests;
