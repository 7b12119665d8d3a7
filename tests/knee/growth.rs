//! From a cold start.

use crate::plant::{Plant, knee};

#[test]
fn without_a_queue_the_limit_is_at_its_highest_within_thirty_flights() {
    let mut plant = Plant::new(f64::INFINITY, 20.0);
    plant.run(&mut knee(20.0), 30.0 * 50.0);
    assert_eq!(plant.limit().to_bits(), 1000.0_f64.to_bits());
}

#[test]
fn at_a_small_server_the_limit_stays_within_four_times_the_initial_one() {
    for initial in [10.0, 20.0, 40.0, 80.0] {
        let mut plant = Plant::new(10.0, initial);
        let decisions = plant.run(&mut knee(initial), 60_000.0);
        let highest = decisions.iter().map(|(_, decision)| decision.new_limit).fold(0.0, f64::max);
        assert!(highest <= 4.0 * initial, "from {initial}: {highest}");
    }
}
