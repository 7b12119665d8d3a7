//! A run of samples that is judged as one.

/// A standard error of the mean of 10 % is enough, so `(cv / 0.1)²` samples are; more than these never.
const MOST_SAMPLES: f64 = 256.0;
const STANDARD_ERROR: f64 = 0.1;
/// From this share of samples that found the limit reached on, the limit binds.
const BINDING_SHARE: f64 = 0.05;

/// Sums over the samples since the window opened.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// When it opened.
    pub opened: f64,
    /// Calls that were answered.
    pub answered: f64,
    /// Calls that were dropped.
    pub drops: f64,
    /// Of latencies.
    pub sum: f64,
    /// Of what the base says that they would be without a queue.
    pub base_sum: f64,
    /// Of latencies over their base, and of its square.
    relative: f64,
    relative_squared: f64,
    inflight: f64,
    bound: f64,
}

/// What a window shows.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// When it opened.
    pub opened: f64,
    /// Calls that were answered.
    pub answered: f64,
    /// The share of calls that were dropped.
    pub drops: f64,
    /// The mean in flight.
    pub inflight: f64,
    /// The mean latency; not a number if nobody was answered, as the ratio.
    pub mean: f64,
    /// The mean latency over the base.
    pub ratio: f64,
    /// The squared coefficient of variation of single calls.
    pub cv2: f64,
    /// Whether any call found the limit reached.
    pub binds_at_all: bool,
    /// Whether so many did that it holds traffic back.
    pub binds: bool,
}

impl Window {
    /// One that opens now.
    pub fn at(now: f64) -> Self {
        Self { opened: now, ..Self::default() }
    }

    /// Adds an answered call.
    pub fn add(&mut self, rtt: f64, base: f64) {
        let relative = rtt / base;
        self.base_sum += base;
        self.answered += 1.0;
        self.sum += rtt;
        self.relative += relative;
        self.relative_squared += relative * relative;
    }

    /// Adds what any call saw in flight.
    pub fn add_inflight(&mut self, inflight: f64, limit: f64) {
        self.inflight += inflight;
        if inflight >= limit.floor() {
            self.bound += 1.0;
        }
    }

    fn cv2(&self) -> f64 {
        let sum_squared = self.relative * self.relative;
        (self.relative_squared * self.answered / sum_squared - 1.0).max(0.0)
    }

    /// How many samples make the mean good enough.
    pub fn wanted_samples(&self) -> f64 {
        (self.cv2() / (STANDARD_ERROR * STANDARD_ERROR)).min(MOST_SAMPLES)
    }

    /// What it shows.
    pub fn seen(&self) -> Seen {
        let total = self.answered + self.drops;
        Seen {
            opened: self.opened,
            answered: self.answered,
            drops: self.drops / total,
            inflight: self.inflight / total,
            mean: self.sum / self.answered,
            ratio: self.sum / self.base_sum,
            cv2: self.cv2(),
            binds_at_all: self.bound > 0.0,
            binds: self.bound / total >= BINDING_SHARE,
        }
    }
}
