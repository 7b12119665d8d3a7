//! The base latency is found, whatever hides it.

use resilience::core::algorithm::Knee;
use resilience::core::algorithm::knee::decision::Rule;

use crate::plant::{Plant, is_steady, knee};

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;

/// From a start with up to ten calls for each worker: the first base is that much too high, and a step of a probe
/// takes a quarter off.
#[test]
fn probes_correct_a_base_that_was_measured_with_a_queue() {
    const WORKERS: f64 = 20.0;
    for tenths in (10..=100).step_by(3) {
        let wrong = f64::from(tenths) / 10.0;
        let initial = wrong * WORKERS;
        let mut plant = Plant::new(WORKERS, initial);
        let mut knee = knee(initial);
        let allowed = (wrong.ln() / (1.0_f64 / 0.75).ln()).ceil() + 2.0;
        let mut steps = 0.0;
        let decisions = plant.run(&mut knee, MINUTE);
        let found = decisions.iter().any(|(_, decision)| {
            let is_right = (plant.believed_base_ms(decision) / plant.base_ms - 1.0).abs() <= 0.1;
            let is_found = steps > 0.0 && is_right;
            steps += f64::from(!is_found && matches!(decision.rule, Rule::Probe | Rule::ProbeDeeper));
            is_found
        });
        assert!(found && steps <= allowed, "{wrong} times the base: {steps} steps of {allowed}");
    }
}

/// A minute of overload; the plant and the controller after it.
fn overloaded(workers: f64, jitter: f64, seed: u64) -> (Plant, Knee) {
    let mut plant = Plant::new(workers, 20.0).seeded(seed);
    plant.jitter = jitter;
    let mut knee = knee(20.0);
    plant.run(&mut knee, MINUTE);
    (plant, knee)
}

#[test]
fn a_dependency_that_is_four_times_slower_gets_its_limit_back() {
    for (jitter, seed) in [(0.0, 1), (0.1, 1), (0.1, 2), (0.1, 3)] {
        let (mut plant, mut knee) = overloaded(10.0, jitter, seed);
        let before = plant.limit();
        plant.base_ms *= 4.0;
        plant.run(&mut knee, 20.0 * SECOND);
        let (_, decision) = plant.run(&mut knee, 5.0 * SECOND)[0];
        let base_ms = plant.believed_base_ms(&decision);
        assert!((base_ms / plant.base_ms - 1.0).abs() <= 0.15, "jitter {jitter}: base {base_ms} ms");
        assert!(decision.old_limit >= 0.8 * before, "jitter {jitter}: {before}, then {}", decision.old_limit);
    }
}

#[test]
fn lost_workers_are_no_slower_base() {
    for (jitter, seed) in [(0.0, 1), (0.1, 1), (0.1, 2), (0.1, 3)] {
        let (mut plant, mut knee) = overloaded(40.0, jitter, seed);
        plant.workers = 10.0;
        plant.run(&mut knee, 3.0 * SECOND);
        assert!(plant.limit() < 18.0, "jitter {jitter}: {}", plant.limit());
        let (_, decision) = plant.run(&mut knee, 5.0 * SECOND)[0];
        let base_ms = plant.believed_base_ms(&decision);
        assert!(base_ms <= 1.1 * plant.base_ms, "jitter {jitter}: base {base_ms} ms");
    }
}

/// The limit at the end of each of ten flights, but for what probes do to it for a moment.
fn ten_flights(mut plant: Plant, mut knee: Knee, luck: f64) -> Vec<f64> {
    let mut sample = plant.next_sample();
    sample.rtt_ms *= luck;
    plant.feed(&mut knee, sample);
    let mut limit = plant.limit();
    let flight_ms = sample.rtt_ms / luck;
    let limits = (0..10).map(|_| {
        for (_, decision) in plant.run(&mut knee, flight_ms) {
            if is_steady(decision.rule) {
                limit = decision.new_limit;
            }
        }
        limit
    });
    limits.collect()
}

#[test]
fn a_lucky_call_does_not_move_the_limit() {
    for jitter in [0.0, 0.1] {
        let (mut plant, mut knee) = overloaded(10.0, jitter, 1);
        for injection in 0..100 {
            plant.run(&mut knee, 317.0);
            let usual = ten_flights(plant.clone(), knee.clone(), 1.0);
            for luck in [0.5, 0.1] {
                let lucky = ten_flights(plant.clone(), knee.clone(), luck);
                let is_close = lucky.iter().zip(&usual).all(|(lucky, usual)| (lucky / usual - 1.0).abs() < 0.1);
                assert!(is_close, "jitter {jitter}, injection {injection} of {luck}: {lucky:?}, not {usual:?}");
            }
        }
    }
}
