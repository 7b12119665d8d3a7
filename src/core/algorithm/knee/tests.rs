use super::baseline::{Baselines, MAX_OPERATIONS};
use super::target::Queue;
use super::*;
use crate::core::random::Random;

const BASE_MS: f64 = 50.0;

fn knee(initial: f64) -> Knee {
    let mut knee = Knee::default();
    knee.keep_within(Range { initial, min: 1.0, max: 1000.0 });
    knee
}

/// Calls that come back one after another, all with the same latency, so many in flight.
struct Stream {
    now_ms: f64,
    drops: f64,
    random: Random,
}

impl Stream {
    const fn new() -> Self {
        Self { now_ms: 0.0, drops: 0.0, random: Random::new(1) }
    }

    /// Goes on until a window ends.
    fn window(&mut self, knee: &mut Knee, inflight: u32, rtt_ms: f64) -> Decision {
        loop {
            self.now_ms += rtt_ms / f64::from(inflight);
            knee.on_sample(Sample {
                rtt_ms,
                inflight,
                dropped: self.random.unit() < self.drops,
                now_ms: self.now_ms,
                started_ms: self.now_ms - rtt_ms,
                ..Sample::default()
            });
            if let Some(decision) = knee.take_decision() {
                return decision;
            }
        }
    }
}

/// Knows its base, and is past the slow start; one that probes only when told.
fn settled(limit: f64, stream: &mut Stream) -> Knee {
    let mut knee = knee(limit);
    stream.window(&mut knee, 1, BASE_MS);
    knee.slow_start.active = false;
    knee.smooth = None;
    knee.probes.next = Some(f64::INFINITY);
    knee
}

#[test]
fn a_queue_as_long_as_meant_leaves_the_limit() {
    for limit in [8_u32, 14, 20, 100, 500] {
        let inflight = f64::from(limit);
        let mut stream = Stream::new();
        let mut knee = settled(inflight, &mut stream);
        // By halving: how many are served when so many are in flight and the queue is as long as meant.
        let (mut low, mut high) = (1.0, inflight);
        for _ in 0..60 {
            let served = f64::midpoint(low, high);
            let is_less = served * Queue::Balanced.target(served, inflight, inflight) < inflight;
            *(if is_less { &mut low } else { &mut high }) = served;
        }
        for _ in 0..50 {
            stream.window(&mut knee, limit, BASE_MS * inflight / low);
        }
        assert!((knee.limit / inflight - 1.0).abs() < 0.01, "{limit} became {}", knee.limit);
    }
}

#[test]
fn one_probe_doubles_a_base_that_is_half_of_what_it_should_be() {
    let mut stream = Stream::new();
    let mut knee = settled(4.0, &mut stream);
    // So few calls that twice the base is a queue as it is meant to be.
    knee.settings.queue = Queue::Long;
    knee.probes.next = Some(0.0);
    knee.range = Range { initial: 4.0, min: 1.0, max: 4.0 };
    let windows = (0..20).map(|_| stream.window(&mut knee, 4, 2.0 * BASE_MS).rule);
    assert!(windows.collect::<Vec<_>>().contains(&Rule::Probe));
    assert!((knee.baselines.other() / (2.0 * BASE_MS) - 1.0).abs() < 1e-9, "{}", knee.baselines.other());
}

#[test]
fn the_size_has_a_bound() {
    let kind = size_of::<Baselines>() - size_of::<Vec<Baselines>>();
    let most = size_of::<Knee>() + MAX_OPERATIONS * kind;
    assert!(most <= 2048, "{} + {MAX_OPERATIONS} * {kind} bytes", size_of::<Knee>());
}

#[test]
fn kinds_beyond_the_last_share_a_baseline() {
    let mut knee = knee(20.0);
    for (index, operation) in (0..=u8::MAX).enumerate() {
        let now_ms = f64::from(operation);
        knee.on_sample(Sample {
            rtt_ms: BASE_MS,
            inflight: 1,
            operation: Some(operation),
            now_ms,
            ..Sample::default()
        });
        assert_eq!(knee.baselines.kinds(), (index + 1).min(MAX_OPERATIONS));
    }
    assert!((knee.baselines.other() - BASE_MS).abs() < f64::EPSILON);
}

/// One experiment is some thirty calls, so its result is rough; that of many has no bias to speak of.
#[test]
fn the_loss_floor_becomes_the_rate_at_which_calls_are_lost_whatever_the_limit() {
    for loss in [0.05, 0.2, 0.4, 0.6] {
        let floors = (0..100).map(|seed| {
            let mut stream = Stream { drops: loss, random: Random::new(seed), ..Stream::new() };
            let mut knee = settled(20.0, &mut stream);
            for _ in 0..200 {
                stream.window(&mut knee, 5, BASE_MS);
            }
            knee.losses.floor
        });
        let floor = floors.sum::<f64>() / 100.0;
        assert!((floor - loss).abs() < 0.1, "{floor} for {loss}");
    }
}
