//! Samples from all over: a dependency that changes its nature now and then, in front of which the limit binds
//! or not.

use resilience::core::algorithm::Sample;
use resilience::core::random::Random;

/// The changes come every so many samples.
const CHANGE_EVERY: u32 = 1500;

/// One such dependency.
pub struct World {
    random: Random,
    samples: u32,
    now_ms: f64,
    base_ms: f64,
    workers: f64,
    load: f64,
    loss: f64,
    noise: f64,
}

impl World {
    /// The same seed gives the same world.
    pub const fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            samples: 0,
            now_ms: 0.0,
            base_ms: 50.0,
            workers: 10.0,
            load: 1.5,
            loss: 0.0,
            noise: 0.5,
        }
    }

    fn change(&mut self) {
        self.base_ms = 1.0 + 200.0 * self.random.unit();
        self.workers = 1.0 + 40.0 * self.random.unit();
        self.load = 3.0 * self.random.unit();
        self.loss = [0.0, 0.0, 0.05, 0.4, 1.0][self.below(5)];
        self.noise = 2.0 * self.random.unit();
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a usize")]
    const fn below(&mut self, end: usize) -> usize {
        (self.random.bits() % end as u64) as usize
    }

    /// The next call that ends, under this limit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a few hundred")]
    pub fn sample(&mut self, limit: f64) -> Sample {
        self.samples += 1;
        if self.samples.is_multiple_of(CHANGE_EVERY) {
            self.change();
        }
        let inflight = (self.load * self.workers).min(limit).floor().max(1.0);
        let queue = (inflight / self.workers).max(1.0);
        let rtt_ms = queue * self.base_ms * (1.0 + self.noise * self.random.unit());
        self.now_ms += self.random.exponential(rtt_ms / inflight);
        Sample {
            rtt_ms,
            inflight: inflight as u32,
            dropped: self.random.unit() < self.loss,
            limit,
            now_ms: self.now_ms,
            started_ms: self.now_ms - rtt_ms,
            operation: (self.random.unit() < 0.3).then(|| self.below(80) as u8),
        }
    }
}
