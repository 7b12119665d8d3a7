//! Where the limit comes to rest, and that it stays there.

use crate::plant::{Plant, is_steady, knee};

const MINUTE: f64 = 60_000.0;

/// Ten workers are busy with ten calls in flight, and are meant to have some more wait.
#[test]
fn the_limit_stays_for_twenty_minutes_of_overload_wherever_it_began() {
    for jitter in [0.0, 0.1] {
        for initial in [3.0, 5.0, 20.0, 60.0, 200.0] {
            let mut plant = Plant::new(10.0, initial);
            plant.jitter = jitter;
            let mut knee = knee(initial);
            plant.run(&mut knee, MINUTE);
            for (at_ms, decision) in plant.run(&mut knee, 20.0 * MINUTE) {
                let case = format!("from {initial}, jitter {jitter}, {at_ms} ms: {decision:?}");
                assert!(!is_steady(decision.rule) || (11.0..=18.0).contains(&decision.new_limit), "{case}");
                let base_ms = plant.believed_base_ms(&decision);
                assert!((base_ms / plant.base_ms - 1.0).abs() <= 0.1, "{case}: base {base_ms} ms");
            }
        }
    }
}
