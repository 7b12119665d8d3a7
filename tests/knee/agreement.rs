//! Two forms of the rules, the same decisions.

use resilience::core::algorithm::knee::decision::Rule;
use resilience::core::algorithm::{Knee, LimitAlgorithm, Sample};

use crate::one_page::OnePage;
use crate::plant::{Plant, knee};
use crate::world::World;

/// Both forms, which have to agree, and what their decisions were.
struct Pair {
    knee: Knee,
    one_page: OnePage,
    epoch_ms: Option<f64>,
    limit: f64,
    seen: Vec<Rule>,
}

impl Pair {
    fn new(initial: f64) -> Self {
        Self {
            knee: knee(initial),
            one_page: OnePage::new(initial, 1.0, 1000.0),
            epoch_ms: None,
            limit: initial,
            seen: Vec::new(),
        }
    }
}

impl LimitAlgorithm for Pair {
    fn on_sample(&mut self, sample: Sample) -> f64 {
        let epoch_ms = *self.epoch_ms.get_or_insert(sample.started_ms);
        let now_ms = sample.now_ms - epoch_ms;
        let started_ms = sample.started_ms - epoch_ms;
        let limit = self.knee.on_sample(sample);
        let expected = self.one_page.limit_after(&Sample { now_ms, started_ms, ..sample });
        assert!((limit - expected).abs() < 1e-9, "{limit}, not {expected}, after {sample:?}");
        let decision = self.knee.take_decision();
        let (old, new) = decision.map_or((limit, limit), |decision| (decision.old_limit, decision.new_limit));
        assert_eq!((old.to_bits(), new.to_bits()), (self.limit.to_bits(), limit.to_bits()), "{decision:?}");
        self.limit = limit;
        if let Some(decision) = decision
            && !self.seen.contains(&decision.rule)
        {
            self.seen.push(decision.rule);
        }
        limit
    }
}

fn assert_all_seen(pairs: &[Pair]) {
    for rule in RULES {
        assert!(pairs.iter().any(|pair| pair.seen.contains(&rule)), "{rule:?} decided nothing");
    }
}

const RULES: [Rule; 13] = [
    Rule::Hold,
    Rule::Grow,
    Rule::Trim,
    Rule::Cut,
    Rule::Undo,
    Rule::Probe,
    Rule::ProbeDeeper,
    Rule::ProbeEnd,
    Rule::LossCut,
    Rule::LossNotOurs,
    Rule::Outage,
    Rule::Recover,
    Rule::Headroom,
];

#[test]
fn decides_as_the_rules_on_one_page_do_in_any_world() {
    let pairs: Vec<Pair> = (0..200)
        .map(|seed| {
            let mut world = World::new(seed);
            let mut pair = Pair::new(20.0);
            for _ in 0..20_000 {
                pair.on_sample(world.sample(pair.limit));
            }
            pair
        })
        .collect();
    assert_all_seen(&pairs);
}

/// A cold start, a dependency that becomes four times slower, fails, loses most of its workers, comes back, and
/// is hardly used.
fn live_through(plant: &mut Plant, pair: &mut Pair) {
    let troubles: [fn(&mut Plant); 8] = [
        |_| {},
        |plant| plant.base_ms *= 4.0,
        |plant| plant.loss = 0.4,
        |plant| plant.loss = 1.0,
        |plant| plant.loss = 0.02,
        |plant| plant.workers /= 5.0,
        |plant| (plant.workers, plant.base_ms) = (plant.workers * 5.0, plant.base_ms / 4.0),
        |plant| plant.callers = 4,
    ];
    for trouble in troubles {
        trouble(plant);
        for _ in 0..8_000 {
            let sample = plant.next_sample();
            plant.feed(pair, sample);
        }
    }
}

#[test]
fn decides_as_the_rules_on_one_page_do_in_a_closed_loop() {
    let mut pairs = Vec::new();
    for (initial, workers, jitter) in [(20.0, 10.0, 0.0), (20.0, 30.0, 0.3), (100.0, 10.0, 0.9), (5.0, 200.0, 0.5)]
    {
        for seed in 1..=5 {
            let mut plant = Plant::new(workers, initial).seeded(seed);
            plant.jitter = jitter;
            let mut pair = Pair::new(initial);
            live_through(&mut plant, &mut pair);
            pairs.push(pair);
        }
    }
    assert_all_seen(&pairs);
}
