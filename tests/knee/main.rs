//! The knee controller.

mod one_page;

use one_page::OnePage;
use resilience::core::algorithm::knee::Range;
use resilience::core::algorithm::{Knee, LimitAlgorithm, Sample};
use resilience::core::random::Random;

/// A dependency of `workers` that changes its nature now and then, behind a limiter whose limit binds or not.
struct World {
    random: Random,
    now_ms: f64,
    base_ms: f64,
    workers: f64,
    load: f64,
    loss: f64,
    noise: f64,
}

impl World {
    fn change(&mut self) {
        self.base_ms = 1.0 + 200.0 * self.random.unit();
        self.workers = 1.0 + 40.0 * self.random.unit();
        self.load = 3.0 * self.random.unit();
        self.loss = [0.0, 0.0, 0.05, 0.4, 1.0][(5.0 * self.random.unit()) as usize];
        self.noise = 2.0 * self.random.unit();
    }

    fn sample(&mut self, limit: f64) -> Sample {
        let inflight = (self.load * self.workers).min(limit).floor().max(1.0);
        let queue = (inflight / self.workers).max(1.0);
        let service = self.base_ms * (1.0 + self.noise * self.random.unit());
        let rtt_ms = service * queue;
        self.now_ms += self.random.exponential(rtt_ms / inflight);
        Sample {
            rtt_ms,
            inflight: inflight as u32,
            dropped: self.random.unit() < self.loss,
            limit,
            now_ms: self.now_ms,
            started_ms: self.now_ms - rtt_ms,
            operation: (self.random.unit() < 0.3).then(|| (self.random.unit() * 80.0) as u8),
        }
    }
}

#[test]
fn decides_as_the_rules_on_one_page_do() {
    for seed in 0..200 {
        let mut world =
            World { random: Random::new(seed), now_ms: 0.0, base_ms: 50.0, workers: 10.0, load: 1.5, loss: 0.0, noise: 0.5 };
        let mut knee = Knee::default();
        knee.keep_within(Range { initial: 20.0, min: 1.0, max: 1000.0 });
        let mut reference = OnePage::new(20.0, 1.0, 1000.0);
        let mut limit = 20.0;
        let mut epoch = None;
        for index in 0..20_000 {
            if index % 1500 == 1499 {
                world.change();
            }
            let sample = world.sample(limit);
            let epoch = *epoch.get_or_insert(sample.started_ms);
            limit = knee.on_sample(sample);
            let expected = reference.limit_after(&Sample {
                now_ms: sample.now_ms - epoch,
                started_ms: sample.started_ms - epoch,
                ..sample
            });
            assert!((limit - expected).abs() < 1e-9, "seed {seed}, sample {index}: {limit}, not {expected}");
        }
    }
}
