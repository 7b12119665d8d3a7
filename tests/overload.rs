//! The gradient2 limiter against the failures that users of adaptive limiters report, in simulated time.

mod support;

use resilience::core::simulate::record::End;
use resilience::core::simulate::scenario::{Arrivals, Phase};
use resilience::core::simulate::service::{Service, Spread};
use support::simulator::{Run, scenario};

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;

/// 40 ms, ±10 %.
const STEADY: Service = Service { mean_ms: 40.0, spread: Spread::Uniform { jitter: 0.1 } };

/// Ten workers of 40 ms serve 250 calls a second. The less the overload, the closer its latency is to what
/// gradient2 tolerates and takes for the baseline's own drift: at 1.3 times the capacity the limit creeps up
/// until deadlines hold it, at twice the capacity it stays.
#[test]
fn twenty_minutes_of_overload_cost_no_throughput() {
    for (factor, steady_limit) in [(1.3, false), (2.0, true)] {
        let overload = scenario((10, STEADY), (Arrivals::Poisson, 250.0 * factor), 1000, 500.0, 20.0 * MINUTE);
        let (early, late) = (MINUTE..2.0 * MINUTE, 18.0 * MINUTE..20.0 * MINUTE);
        let run = Run::new(&overload, 1, &[early.clone(), late.clone()]);
        let [early, late] = [early, late].map(|window| run.figures(&format!("{factor}x"), &window));
        for figures in [&early, &late] {
            assert!(figures.throughput >= 0.98 * 250.0, "{factor}x: {} a second", figures.throughput);
        }
        let drift = late.limit / early.limit;
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
        let mut outage = scenario((30, STEADY), (arrivals, rate), 1000, 120.0, 30.0 * SECOND);
        outage.phases = [(10.0, 0), (20.0, 30)]
            .map(|(second, workers)| Phase { at_ms: second * SECOND, workers: Some(workers), ..Phase::default() })
            .to_vec();
        for seed in 1..=3 {
            let (hanging, healed) = (19.0 * SECOND..20.0 * SECOND, 25.0 * SECOND..30.0 * SECOND);
            let run = Run::new(&outage, seed, &[hanging.clone(), healed.clone()]);
            let case = format!("{rate} a second, {arrivals:?}, seed {seed}");
            let limit = run.figures(&case, &hanging).limit;
            assert!((limit - 1.0).abs() < 1e-9, "{case}: limit {limit}");
            let goodput = run.figures(&case, &healed).throughput / f64::min(rate, 750.0);
            assert!(goodput >= 0.9, "{case}: goodput {goodput}");
        }
    }
}

#[test]
fn three_slow_calls_in_a_hundred_are_no_overload() {
    for slow_factor in [3.0, 10.0] {
        let spread = Spread::Bimodal { slow_share: 0.03, slow_factor };
        let service = Service { mean_ms: 40.0, spread };
        let calm = scenario((10_000, service), (Arrivals::Poisson, 200.0), 1000, 5.0 * SECOND, MINUTE);
        for seed in 1..=3 {
            let whole = 0.0..MINUTE;
            let run = Run::new(&calm, seed, std::slice::from_ref(&whole));
            let figures = run.figures(&format!("3 % are {slow_factor} times as slow, seed {seed}"), &whole);
            assert!(figures.rejected < 0.01);
        }
    }
}

/// Two idle minutes, then three times the capacity.
#[test]
fn the_limit_does_not_grow_in_secret_while_idle() {
    let until = 2.0 * MINUTE + 5.0 * SECOND;
    let mut burst = scenario((30, STEADY), (Arrivals::Poisson, 20.0), 1000, 500.0, until);
    burst.phases = vec![Phase { at_ms: 2.0 * MINUTE, rates: vec![2250.0], ..Phase::default() }];
    for seed in 1..=3 {
        let window = 2.0 * MINUTE..until;
        let run = Run::new(&burst, seed, std::slice::from_ref(&window));
        let figures = run.figures(&format!("burst, seed {seed}"), &window);
        let limits = &run.record.limits;
        assert_eq!(limits[0], (0.0, 20));
        assert!(limits[1].0 > window.start, "the limit moved at {} ms", limits[1].0);
        assert!(run.record.calls.iter().all(|call| call.end != End::TimedOut));
        assert!(figures.throughput >= 0.95 * 750.0);
    }
}
