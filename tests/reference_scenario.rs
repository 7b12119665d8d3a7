//! The scenario that the adaptive limiter is documented with, through the real engine.
//!
//! A dependency takes 40 ms a call while up to 30 run at once, 10 while it is slowed from 10 s to 20 s; above
//! that calls queue inside it. 1500 calls a second are offered, and wait 120 ms at the most.

mod support;

use std::ops::{Range, RangeInclusive};

use resilience::core::simulate::scenario::{Arrivals, Phase, Scenario};
use resilience::core::simulate::service::{Service, Spread};
use support::simulator::{Run, scenario};

fn slowdown(arrivals: Arrivals, jitter: f64) -> Scenario {
    let service = Service { mean_ms: 40.0, spread: Spread::Uniform { jitter } };
    let mut slowdown = scenario((30, service), (arrivals, 1500.0), 100, 120.0, 30_000.0);
    slowdown.phases = [(10_000.0, 10), (20_000.0, 30)]
        .map(|(at_ms, workers)| Phase { at_ms, workers: Some(workers), ..Phase::default() })
        .to_vec();
    slowdown
}

/// Where the mean limit has to be in each of the [`WINDOWS`].
type Limits = [RangeInclusive<f64>; 3];

const WINDOWS: [Range<f64>; 3] = [5_000.0..10_000.0, 15_000.0..20_000.0, 25_000.0..30_000.0];
const CAPACITY: [f64; 3] = [750.0, 250.0, 750.0];

fn check(arrivals: Arrivals, jitter: f64, seeds: RangeInclusive<u64>, limits: Option<&Limits>) {
    let slowdown = slowdown(arrivals, jitter);
    for seed in seeds {
        let run = Run::new(&slowdown, seed, &WINDOWS);
        for (index, window) in WINDOWS.iter().enumerate() {
            let case = format!("{arrivals:?} arrivals, jitter {jitter}, seed {seed}");
            let figures = run.figures(&case, window);
            assert!(figures.throughput >= 0.98 * CAPACITY[index], "{case}: {} a second", figures.throughput);
            if let Some(limits) = limits {
                assert!(limits[index].contains(&figures.limit), "{case}: limit {}", figures.limit);
            }
        }
    }
}

const DOCUMENTED: Limits = [48.0..=62.0, 16.0..=23.0, 48.0..=64.0];

#[test]
fn serves_the_capacity_within_the_documented_limits() {
    check(Arrivals::Even, 0.0, 1..=1, Some(&DOCUMENTED));
    check(Arrivals::Poisson, 0.0, 1..=3, Some(&DOCUMENTED));
}

#[test]
fn serves_the_capacity_with_service_times_of_10_percent_jitter() {
    check(Arrivals::Even, 0.1, 1..=3, Some(&DOCUMENTED));
    check(Arrivals::Poisson, 0.1, 1..=3, Some(&DOCUMENTED));
}

#[test]
fn serves_the_capacity_with_service_times_of_30_percent_jitter() {
    check(Arrivals::Even, 0.3, 1..=3, None);
    check(Arrivals::Poisson, 0.3, 1..=3, None);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let slowdown = slowdown(Arrivals::Poisson, 0.3);
    let [first, second, other] = [7, 7, 8].map(|seed| Run::new(&slowdown, seed, &WINDOWS).record);
    assert_eq!(first.calls, second.calls);
    assert_eq!(first.limits, second.limits);
    assert_ne!(first.limits, other.limits);
}
