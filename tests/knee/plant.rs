//! The controlled system, in simulated time: calls in a closed loop, the limit, and a dependency behind it.

use resilience::core::algorithm::knee::decision::{Decision, Rule};
use resilience::core::algorithm::knee::settings::Range;
use resilience::core::algorithm::{Knee, LimitAlgorithm, Sample};
use resilience::core::random::Random;

/// More callers than any limit lets in.
pub const EVERYONE: usize = usize::MAX;

/// A controller with the defaults, whose limit begins here and stays within 1 to 1000.
pub fn knee(initial: f64) -> Knee {
    let mut knee = Knee::default();
    knee.keep_within(Range { initial, min: 1.0, max: 1000.0 });
    knee
}

#[derive(Clone, Copy, Debug)]
struct Call {
    started_ms: f64,
    ends_ms: f64,
}

/// Callers come back as soon as their call has ended. A call takes `base_ms` while there are workers enough for
/// all in flight, and their share of the workers' throughput beyond.
#[derive(Clone, Debug)]
pub struct Plant {
    /// The latency without a queue.
    pub base_ms: f64,
    /// Calls that are served at once.
    pub workers: f64,
    /// Those who want to be served at any moment.
    pub callers: usize,
    /// The share of calls that are dropped, at random.
    pub loss: f64,
    /// By how much latencies vary: uniform within this share of them.
    pub jitter: f64,
    /// When the last call ended.
    pub now_ms: f64,
    limit: f64,
    calls: Vec<Call>,
    random: Random,
}

impl Plant {
    /// As many callers as the limit lets in, at a dependency of 50 ms that loses nothing.
    pub const fn new(workers: f64, limit: f64) -> Self {
        Self {
            base_ms: 50.0,
            workers,
            callers: EVERYONE,
            loss: 0.0,
            jitter: 0.0,
            now_ms: 0.0,
            limit,
            calls: Vec::new(),
            random: Random::new(1),
        }
    }

    /// The same, by other chance.
    pub fn seeded(self, seed: u64) -> Self {
        Self { random: Random::new(seed), ..self }
    }

    /// The limit that was last set.
    pub const fn limit(&self) -> f64 {
        self.limit
    }

    /// The latency with so many in flight.
    pub fn latency_ms(&self, inflight: f64) -> f64 {
        self.base_ms * (inflight / self.workers).max(1.0)
    }

    /// The base that a controller has, by what it said of a window with so many in flight all the time.
    pub fn believed_base_ms(&self, decision: &Decision) -> f64 {
        self.latency_ms(decision.inflight) / decision.latency_ratio
    }

    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    fn let_in(&mut self) {
        while self.calls.len() < self.callers && (self.calls.len() as f64) < self.limit.floor().max(1.0) {
            let jitter = 1.0 + self.jitter * (2.0 * self.random.unit() - 1.0);
            let latency_ms = self.latency_ms(self.calls.len() as f64 + 1.0) * jitter;
            self.calls.push(Call { started_ms: self.now_ms, ends_ms: self.now_ms + latency_ms });
        }
    }

    /// Ends the call that is next to end.
    pub fn next_sample(&mut self) -> Sample {
        self.let_in();
        let ends = self.calls.iter().map(|call| call.ends_ms).enumerate();
        let (next, ends_ms) =
            ends.min_by(|one, other| one.1.total_cmp(&other.1)).expect("the limit is at least 1");
        let inflight = u32::try_from(self.calls.len()).expect("a few thousand at most");
        let Call { started_ms, .. } = self.calls.swap_remove(next);
        self.now_ms = ends_ms;
        Sample {
            rtt_ms: ends_ms - started_ms,
            inflight,
            dropped: self.random.unit() < self.loss,
            limit: self.limit,
            now_ms: ends_ms,
            started_ms,
            operation: None,
        }
    }

    /// Feeds an algorithm with a sample, and takes its limit.
    pub fn feed(&mut self, algorithm: &mut impl LimitAlgorithm, sample: Sample) {
        self.limit = algorithm.on_sample(sample);
    }

    /// Goes on for this long; what was decided, and when.
    pub fn run(&mut self, knee: &mut Knee, for_ms: f64) -> Vec<(f64, Decision)> {
        let until_ms = self.now_ms + for_ms;
        let mut decisions = Vec::new();
        loop {
            if self.now_ms >= until_ms {
                return decisions;
            }
            let sample = self.next_sample();
            self.feed(knee, sample);
            decisions.extend(knee.take_decision().map(|decision| (self.now_ms, decision)));
        }
    }
}

/// Whether the limit that a decision left is one to stay at, and none that a probe or an experiment tries.
pub const fn is_steady(rule: Rule) -> bool {
    !matches!(rule, Rule::Probe | Rule::ProbeDeeper | Rule::Cut | Rule::LossCut)
}
