//! The circuit breaker against a list of every call that it ever let in.

mod model;
mod pair;

use proptest::prelude::*;
use resilience::core::gate::circuit_breaker::{Circuit, Settings};
use resilience::core::outcome::Outcome;

use pair::{Pair, Step};

prop_compose! {
    fn settings()(
        failure_ratio in prop::sample::select(vec![0.1, 0.5, 0.75, 1.0]),
        slow_call_ratio in prop::sample::select(vec![0.5, 1.0]),
        slow_call_ms in prop::sample::select(vec![f64::INFINITY, f64::INFINITY, 8.0]),
        minimum_throughput in prop_oneof![1..6_u32, Just(20)],
        consecutive_failures in 0..4_u32,
        sampling_ms in prop::sample::select(vec![20.0, 500.0, 30_000.0]),
        break_ms in prop::sample::select(vec![0.25, 16.0, 500.0]),
        half_open_probes in 1..5_u32,
    ) -> Settings {
        Settings {
            failure_ratio,
            slow_call_ratio,
            slow_call_ms,
            minimum_throughput,
            consecutive_failures,
            sampling_ms,
            break_ms,
            half_open_probes,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let outcomes = prop_oneof![
        4 => Just(Outcome::Success),
        5 => Just(Outcome::Drop),
        1 => Just(Outcome::NoSample),
        1 => Just(Outcome::Unhandled),
    ];
    let breaks = || prop::sample::select(vec![0.0, 0.25, 40.0, 2000.0]);
    let circuits = vec![Circuit::Closed, Circuit::Open, Circuit::HalfOpen, Circuit::Isolated];
    prop_oneof![
        25 => Just(Step::Enter),
        3 => Just(Step::Insist),
        25 => (any::<usize>(), outcomes, prop::bool::weighted(0.2))
            .prop_map(|(choice, outcome, early)| Step::Leave { choice, outcome, early }),
        10 => prop::sample::select(vec![0.25, 1.0, 2.0, 8.0, 16.0, 50.0, 500.0, 30_000.0]).prop_map(Step::Pass),
        2 => prop::sample::select(vec![0.25, 2.0, 16.0, 400.0, 29_000.0]).prop_map(Step::GoBack),
        2 => (any::<usize>(), breaks()).prop_map(|(choice, ms)| Step::SetBreak(choice, ms)),
        1 => Just(Step::Isolate),
        2 => Just(Step::Close),
        1 => (prop::sample::select(circuits), breaks()).prop_map(|(circuit, ms)| Step::Restore(circuit, ms)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn does_what_a_scan_of_all_calls_would(
        settings in settings(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut pair = Pair::new(settings);
        for step in steps {
            pair.step(step)?;
        }
        pair.insist()?;
    }
}
