//! Drops: of a dependency that is overloaded, fails at random, or is gone.

use resilience::core::algorithm::knee::decision::Rule;

use crate::plant::{EVERYONE, Plant, knee};

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;

/// Half of the workers are busy. Of the windows of 20 times two minutes, those after which the limit turned
/// somebody away.
#[test]
fn random_loss_holds_hardly_anybody_back() {
    const CALLERS: u32 = 5;
    for (loss, tolerated) in [(0.05, 0.0), (0.2, 0.001), (0.4, 0.025)] {
        let (mut windows, mut held_back) = (0.0, 0.0);
        for seed in 1..=20 {
            let mut plant = Plant::new(10.0, 20.0).seeded(seed);
            (plant.loss, plant.callers) = (loss, CALLERS as usize);
            for (_, decision) in plant.run(&mut knee(20.0), 2.0 * MINUTE) {
                windows += 1.0;
                held_back += f64::from(decision.new_limit < f64::from(CALLERS));
            }
        }
        assert!(held_back <= tolerated * windows, "loss {loss}: {held_back} of {windows} windows");
    }
}

#[test]
fn a_cut_that_does_not_lower_the_loss_is_undone() {
    let mut undone = 0;
    for seed in 1..=20 {
        let mut plant = Plant::new(10.0, 20.0).seeded(seed);
        plant.loss = 0.5;
        let decisions = plant.run(&mut knee(20.0), MINUTE);
        for ((_, cut), (_, decision)) in decisions.iter().zip(&decisions[1..]) {
            if decision.rule == Rule::LossNotOurs {
                assert_eq!(cut.rule, Rule::LossCut);
                assert_eq!(decision.new_limit.to_bits(), cut.old_limit.to_bits(), "seed {seed}");
                undone += 1;
            }
        }
    }
    assert!(undone >= 20, "{undone}");
}

#[test]
fn after_an_outage_the_limit_is_back_within_two_seconds() {
    for callers in [EVERYONE, 5] {
        for jitter in [0.0, 0.3] {
            for seed in 1..=5 {
                let case = format!("{callers} callers, jitter {jitter}, seed {seed}");
                let mut plant = Plant::new(10.0, 20.0).seeded(seed);
                (plant.jitter, plant.callers) = (jitter, callers);
                let mut knee = knee(20.0);
                plant.run(&mut knee, MINUTE);
                let before = plant.limit();
                plant.loss = 1.0;
                plant.run(&mut knee, 30.0 * SECOND);
                assert_eq!(plant.limit().to_bits(), 1.0_f64.to_bits(), "{case}");
                plant.loss = 0.0;
                let decisions = plant.run(&mut knee, 2.0 * SECOND);
                let recoveries = decisions.iter().filter(|(_, decision)| decision.rule == Rule::Recover);
                let highest = recoveries.map(|(_, decision)| decision.new_limit).fold(0.0, f64::max);
                assert!((0.9 * before..=before).contains(&highest), "{case}: {highest} after {before}");
            }
        }
    }
}
