//! The scenario that the adaptive limiter is documented with, through the real engine.
//!
//! A dependency takes 40 ms a call while up to 30 run at once, 10 while it is slowed from 10 s to 20 s; above
//! that calls queue inside it. 1500 calls a second are offered, and wait 120 ms at the most.

mod support;

use std::ops::{Range, RangeInclusive};

use resilience::core::algorithm::{Algorithm, Gradient2};
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::queue::Overflow;
use support::simulator::{Arrivals, Phase, Report, Scenario, run};

const SERVICE_MS: f64 = 40.0;

fn simulate(arrivals: Arrivals, jitter: f64, seed: u64) -> Report {
    let permits = Concurrency::new(20, 0, f64::INFINITY, Overflow::RejectNew);
    let algorithm = Algorithm::Gradient2(Gradient2::default());
    run(Scenario {
        gates: vec![
            Gate::Adaptive(Adaptive::new(permits, algorithm, 1, 100)),
            Gate::Deadline(Deadline { timeout_ms: 120.0 }),
        ],
        phases: &[
            Phase { from_ms: 0.0, workers: 30, rate: 1500.0 },
            Phase { from_ms: 10_000.0, workers: 10, rate: 1500.0 },
            Phase { from_ms: 20_000.0, workers: 30, rate: 1500.0 },
        ],
        arrivals,
        service_ms: &|random| SERVICE_MS * (1.0 + jitter * (2.0 * random.unit() - 1.0)),
        until_ms: 30_000.0,
        seed,
    })
}

/// Where the mean limit has to be in each of the [`WINDOWS`].
type Limits = [RangeInclusive<f64>; 3];

const WINDOWS: [Range<f64>; 3] = [5_000.0..10_000.0, 15_000.0..20_000.0, 25_000.0..30_000.0];
const CAPACITY: [f64; 3] = [750.0, 250.0, 750.0];

fn check(arrivals: Arrivals, jitter: f64, seeds: RangeInclusive<u64>, limits: Option<&Limits>) {
    for seed in seeds {
        let report = simulate(arrivals, jitter, seed);
        for (index, window) in WINDOWS.iter().enumerate() {
            let case = format!("{arrivals:?} arrivals, jitter {jitter}, seed {seed}, {window:?} ms");
            let throughput = report.throughput(window);
            let limit = report.mean_limit(window);
            let p99 = report.latency(0.99, window);
            let refused = 100.0 * report.refused_share(window);
            println!(
                "{case}: {throughput:.1} a second, limit {limit:.1}, p99 {p99:.1} ms, {refused:.0} % refused"
            );
            assert!(throughput >= 0.98 * CAPACITY[index], "{case}: {throughput} a second");
            if let Some(limits) = limits {
                assert!(limits[index].contains(&limit), "{case}: limit {limit}");
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
    let [first, second] = [7, 7].map(|seed| simulate(Arrivals::Poisson, 0.3, seed));
    assert_eq!(first.answered, second.answered);
    assert_eq!(first.limits, second.limits);
    assert_ne!(first.limits, simulate(Arrivals::Poisson, 0.3, 8).limits);
}
