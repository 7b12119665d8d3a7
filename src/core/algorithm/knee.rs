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
//! - [`loss`]: drops are a second signal with an experiment of its own: if a cut does not lower the loss, the
//!   loss is not ours.
//!
//! There is no timer: a window closes with a sample, and idle time needs no care. Times are milliseconds since
//! the first sample's start.

mod baseline;
pub mod decision;
mod experiment;
mod headroom;
mod loss;
mod moments;
mod probe;
mod steer;
pub mod target;
mod window;

#[cfg(test)]
mod tests;

use super::{LimitAlgorithm, Sample};
use baseline::Baselines;
use decision::{Decision, Rule};
use experiment::Experiment;
use headroom::Headroom;
use loss::Losses;
use moments::Moments;
use probe::{Probes, Ready};
use steer::{SlowStart, Streak};
use target::Queue;
use window::{Seen, Window};

/// The shortest latency that is told apart from none.
const MIN_RTT_MS: f64 = 0.001;
/// Before the first change, the last one counts as this long ago.
const LONG_AGO_MS: f64 = -1000.0;
/// A mean below this share of the base is no noise.
const OUT_OF_DATE: f64 = 0.7;

/// What users tune.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How many times the mean in flight the limit is lifted to while it does not bind. At least 0, which
    /// switches that off.
    pub headroom: f64,
    /// The queue that is aimed at.
    pub queue: Queue,
}

impl Default for Settings {
    fn default() -> Self {
        Self { headroom: 4.5, queue: Queue::BALANCED }
    }
}

/// Where the limit begins and may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The first limit.
    pub initial: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

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
    range: Option<Range>,
    limit: f64,
    mode: Mode,
    window: Window,
    baselines: Baselines,
    /// When the first sampled call started; times count from here.
    epoch: Option<f64>,
    /// What the samples' clock lacks of one that other limiters share.
    shared_clock: Option<f64>,
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
    decision: Option<Decision>,
}

impl Knee {
    /// A controller that begins at the limit of its first sample, and goes nowhere below 1.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            range: None,
            limit: 0.0,
            mode: Mode::Run,
            window: Window::default(),
            baselines: Baselines::default(),
            epoch: None,
            shared_clock: None,
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
        self.shared_clock = Some(offset);
    }

    /// Sets where the limit begins and may go.
    pub const fn keep_within(&mut self, range: Range) {
        self.range = Some(range);
        self.limit = range.initial;
    }

    /// What the last sample's window brought, once.
    pub const fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    fn range(&mut self, sample: &Sample) -> Range {
        if let Some(range) = self.range {
            return range;
        }
        let initial = if sample.limit >= 1.0 { sample.limit } else { 1.0 };
        let range = Range { initial, min: 1.0, max: f64::MAX };
        self.limit = initial;
        *self.range.insert(range)
    }

    /// Moves the limit, and has the samples that follow wait for the effect.
    fn set(&mut self, limit: f64, range: Range, now: f64) {
        let limit = limit.max(range.min).min(range.max);
        if limit.total_cmp(&self.limit).is_ne() {
            self.limit = limit;
            self.changed = now;
        }
    }

    /// Takes a sample at `now`; the rule by which its window was decided, if it ended one.
    fn observe(&mut self, sample: &Sample, now: f64, started: f64, range: Range) -> Option<(Seen, Rule)> {
        let settle = match self.mode {
            Mode::Recover => 0.0,
            _ if self.slow_start.active => 1.0,
            _ => 2.0,
        };
        if now < self.changed + settle * self.last_mean || (sample.dropped && started < self.changed) {
            return None;
        }
        if self.window.opened.is_none_or(|opened| opened < self.changed) {
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
            return Some((seen, self.explore(ready, now, range)));
        }
        if !self.is_complete(now) {
            return None;
        }
        let seen = self.window.seen();
        let rule = self.close(&seen, now, range);
        self.open(now);
        Some((seen, rule))
    }

    fn open(&mut self, now: f64) {
        self.window = Window::at(now);
        self.baselines.open();
    }

    /// Whether the window has enough samples, over enough time. May set the first baseline.
    fn is_complete(&mut self, now: f64) -> bool {
        let Window { answered, drops, sum, .. } = self.window;
        let total = answered + drops;
        if self.mode == Mode::Probe && self.probes.is_over(now, answered) {
            return true;
        }
        let least = match self.mode {
            Mode::Recover => self.limit.clamp(4.0, 16.0),
            Mode::Loss => 32.0,
            _ => 16.0,
        };
        if total < least {
            return false;
        }
        if self.last_mean == 0.0 {
            // At first only the quick calls have ended.
            if now < 3.0 * sum / answered.max(1.0) {
                return false;
            }
            if answered >= 4.0 {
                self.window.base_sum = self.baselines.start();
            }
        }
        if self.mode == Mode::Recover || drops >= 0.25 * total {
            return true;
        }
        let (samples, flights) = match self.mode {
            Mode::Run => (self.window.wanted_samples(), 0.5),
            _ => (self.window.wanted_samples().clamp(32.0, 128.0), 1.0),
        };
        let lasted = now - self.window.opened.unwrap_or(now);
        (total >= samples || self.last_mean <= 0.0) && lasted >= flights * self.last_mean.max(sum / answered)
    }

    /// Decides on the limit by a window that ends `now`.
    fn close(&mut self, seen: &Seen, now: f64, range: Range) -> Rule {
        if seen.binds_at_all {
            if now - self.last_bound > 10.0 * self.last_mean {
                self.bound_since = seen.opened;
            }
            self.last_bound = now;
        }
        if let Some(rule) = self.judge_loss(seen, now, range) {
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
            return self.recover(seen, &latency, now, range);
        }
        self.cv += 0.1 * (latency.cv2.sqrt() - self.cv);
        let previous = self.headroom.swap_inflight(seen.inflight);
        let concluded = match self.mode {
            Mode::Verify => self.conclude_experiment(seen, &latency, now, range),
            Mode::Probe => Some(self.conclude_probe(seen, &latency, now, range)),
            _ => None,
        };
        concluded.unwrap_or_else(|| self.run(seen, &latency, previous, now, range))
    }

    /// The steady state: steers, then probes a limit that binds, and lifts one that does not.
    fn run(&mut self, seen: &Seen, latency: &Latency, previous: f64, now: f64, range: Range) -> Rule {
        let mut latency = *latency;
        if self.probes.are_shared() && latency.ratio < OUT_OF_DATE {
            // The base has been measured with the queues of others in it, which have drained.
            self.baselines.learn(1.0, latency.ratio);
            latency.ratio = 1.0;
            self.smooth = None;
        }
        let Latency { ratio, mean, .. } = latency;
        let smooth = self.smooth.map_or(ratio, |smooth| smooth + 0.3 * (ratio - smooth));
        self.smooth = Some(smooth);
        if seen.binds_at_all && smooth < 0.88 {
            // Faster than the base: that is out of date.
            self.probes.hasten(now, mean);
        }
        let held = now - self.bound_since;
        self.probes.stand_down();
        let rule = self.steer(seen, &latency, smooth, held, now, range);
        if rule == Rule::Cut {
            return rule;
        }
        if !seen.binds_at_all {
            if now - self.changed > 10.0 * mean {
                self.streak.end();
                self.slow_start.active = false;
            }
            let lifted = self.lift(seen, ratio, mean, previous, now, range);
            return if lifted { Rule::Headroom } else { rule };
        }
        if self.streak.is_over() && held >= 10.0 * mean {
            let ready = Ready { inflight: seen.inflight, latency, smooth };
            return self.explore_if_due(ready, now, range).unwrap_or(rule);
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
        let range = self.range(&sample);
        if !(sample.rtt_ms.is_finite() && sample.now_ms.is_finite() && sample.started_ms.is_finite()) {
            return self.limit;
        }
        let epoch = *self.epoch.get_or_insert_with(|| {
            if let Some(offset) = self.shared_clock {
                self.probes.share(Moments { offset: offset + sample.started_ms });
            }
            sample.started_ms
        });
        let (now, started) = (sample.now_ms - epoch, sample.started_ms - epoch);
        let old = self.limit;
        self.decision = self.observe(&sample, now, started, range).map(|(seen, rule)| Decision {
            rule,
            inflight: seen.inflight,
            latency_ratio: seen.ratio,
            target: self.settings.queue.target(seen.inflight / seen.ratio.max(1.0), seen.inflight, old),
            drops: seen.drops,
            old_limit: old,
            new_limit: self.limit,
        });
        self.limit
    }
}
