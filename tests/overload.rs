//! The gradient2 limiter against the failures that users of adaptive limiters report, in simulated time.

mod support;

use std::ops::Range;

use resilience::core::algorithm::{Algorithm, Gradient2};
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::queue::Overflow;
use resilience::core::random::Random;
use support::simulator::{Arrivals, Phase, Report, Scenario, run};

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;

fn simulate(
    timeout_ms: f64,
    arrivals: Arrivals,
    phases: &[Phase],
    service_ms: &dyn Fn(&mut Random) -> f64,
    until_ms: f64,
    seed: u64,
) -> Report {
    let permits = Concurrency::new(20, 0, f64::INFINITY, Overflow::RejectNew);
    let algorithm = Algorithm::Gradient2(Gradient2::default());
    run(Scenario {
        gates: vec![
            Gate::Adaptive(Adaptive::new(permits, algorithm, 1, 1000)),
            Gate::Deadline(Deadline { timeout_ms }),
        ],
        phases,
        arrivals,
        service_ms,
        until_ms,
        seed,
    })
}

/// 40 ms, ±10 %.
fn steady(random: &mut Random) -> f64 {
    36.0 + 8.0 * random.unit()
}

fn figures(case: &str, report: &Report, window: &Range<f64>) {
    println!(
        "{case}, {window:?} ms: {:.1} a second, limit {:.1}, p99 {:.1} ms, {:.2} % refused",
        report.throughput(window),
        report.mean_limit(window),
        report.latency(0.99, window),
        100.0 * report.refused_share(window),
    );
}

/// Ten workers of 40 ms serve 250 calls a second. The less the overload, the closer its latency is to what
/// gradient2 tolerates and takes for the baseline's own drift: at 1.3 times the capacity the limit creeps up
/// until deadlines hold it, at twice the capacity it stays.
#[test]
fn twenty_minutes_of_overload_cost_no_throughput() {
    for (factor, steady_limit) in [(1.3, false), (2.0, true)] {
        let phases = [Phase { from_ms: 0.0, workers: 10, rate: 250.0 * factor }];
        let report = simulate(500.0, Arrivals::Poisson, &phases, &steady, 20.0 * MINUTE, 1);
        let (early, late) = (MINUTE..2.0 * MINUTE, 18.0 * MINUTE..20.0 * MINUTE);
        for window in [&early, &late] {
            figures(&format!("{factor}x"), &report, window);
            assert!(report.throughput(window) >= 0.98 * 250.0);
        }
        let drift = report.mean_limit(&late) / report.mean_limit(&early);
        assert!(
            !steady_limit || (0.8..=1.2).contains(&drift),
            "{factor}x: the limit moved by a factor of {drift}"
        );
    }
}

/// The dependency serves nobody from 10 s to 20 s.
#[test]
fn a_hanging_dependency_closes_the_limiter_and_a_healed_one_opens_it_again() {
    for (rate, arrivals) in [(500.0, Arrivals::Even), (500.0, Arrivals::Poisson), (1500.0, Arrivals::Poisson)] {
        let phases = [(0.0, 30), (10.0, 0), (20.0, 30)].map(|(second, workers)| Phase {
            from_ms: second * SECOND,
            workers,
            rate,
        });
        for seed in 1..=3 {
            let report = simulate(120.0, arrivals, &phases, &steady, 30.0 * SECOND, seed);
            let healed = 25.0 * SECOND..30.0 * SECOND;
            figures(&format!("{rate} a second, {arrivals:?}, seed {seed}"), &report, &healed);
            let hanging = report.mean_limit(&(19.0 * SECOND..20.0 * SECOND));
            assert!((hanging - 1.0).abs() < 1e-9, "{rate} a second, {arrivals:?}, seed {seed}: limit {hanging}");
            let goodput = report.throughput(&healed) / f64::min(rate, 750.0);
            assert!(goodput >= 0.9, "{rate} a second, {arrivals:?}, seed {seed}: goodput {goodput}");
        }
    }
}

#[test]
fn three_slow_calls_in_a_hundred_are_no_overload() {
    let phases = [Phase { from_ms: 0.0, workers: usize::MAX, rate: 200.0 }];
    for slow_ms in [120.0, 400.0] {
        for seed in 1..=3 {
            let service = |random: &mut Random| if random.unit() < 0.03 { slow_ms } else { steady(random) };
            let report = simulate(5.0 * SECOND, Arrivals::Poisson, &phases, &service, MINUTE, seed);
            figures(&format!("3 % of {slow_ms} ms, seed {seed}"), &report, &(0.0..MINUTE));
            assert!(report.refused_share(&(0.0..MINUTE)) < 0.01);
        }
    }
}

/// Two idle minutes, then three times the capacity.
#[test]
fn the_limit_does_not_grow_in_secret_while_idle() {
    let phases = [
        Phase { from_ms: 0.0, workers: 30, rate: 20.0 },
        Phase { from_ms: 2.0 * MINUTE, workers: 30, rate: 2250.0 },
    ];
    for seed in 1..=3 {
        let report = simulate(500.0, Arrivals::Poisson, &phases, &steady, 2.0 * MINUTE + 5.0 * SECOND, seed);
        let burst = 2.0 * MINUTE..2.0 * MINUTE + 5.0 * SECOND;
        figures(&format!("burst, seed {seed}"), &report, &burst);
        assert_eq!(report.limits[0], (0.0, 20));
        assert!(report.limits[1].0 > burst.start, "the limit moved at {} ms", report.limits[1].0);
        assert_eq!(report.timed_out, []);
        assert!(report.throughput(&burst) >= 0.95 * 750.0);
    }
}
