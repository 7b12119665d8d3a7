//! Random programs against the gate of an event loop: nobody is lost, started twice, started after it has left, or
//! kept waiting for ever.

mod driver;
mod eviction;

use driver::{Driver, MAX_MS};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Offer { door: usize, level: usize, patience_ms: f64 },
    Offers { number: usize },
    Connect,
    End { nth: usize },
    Spend { ms: f64 },
    Turn { sleep_ms: f64, compute_ms: f64, ends: bool },
    Close { door: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let patience = prop_oneof![3 => Just(f64::INFINITY), 1 => 0.0..1_000.0];
    let compute = prop_oneof![Just(0.0), 0.01..30.0, 100.0..400.0];
    prop_oneof![
        8 => (0..2_usize, 0..8_usize, patience)
            .prop_map(|(door, level, patience_ms)| Step::Offer { door, level, patience_ms }),
        2 => (1..40_usize).prop_map(|number| Step::Offers { number }),
        2 => Just(Step::Connect),
        6 => (0..1_000_usize).prop_map(|nth| Step::End { nth }),
        3 => (0.0..20.0).prop_map(|ms| Step::Spend { ms }),
        1 => (100.0..700.0).prop_map(|ms| Step::Spend { ms }),
        8 => (0.0..50.0, compute, any::<bool>())
            .prop_map(|(sleep_ms, compute_ms, ends)| Step::Turn { sleep_ms, compute_ms, ends }),
        1 => (0..2_usize).prop_map(|door| Step::Close { door }),
    ]
}

fn play(driver: &mut Driver, steps: Vec<Step>) {
    for step in steps {
        match step {
            Step::Offer { door, level, patience_ms } => driver.offer(door, level, patience_ms),
            Step::Offers { number } => (0..number).for_each(|_| driver.offer(0, 0, f64::INFINITY)),
            Step::Connect => driver.connect(),
            Step::End { nth } => driver.end(nth),
            Step::Spend { ms } => driver.spend(ms),
            Step::Turn { sleep_ms, compute_ms, ends } => driver.turn(sleep_ms, compute_ms, ends),
            Step::Close { door } => driver.close(door),
        }
    }
}

fn adds_up(driver: &Driver) {
    let Driver { started, refused, cancelled, .. } = *driver;
    assert_eq!(driver.came(), started + refused + cancelled, "all but those that wait");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Nothing ends any more, and nothing comes: the loop alone lets those in who may, and turns the others away.
    #[test]
    fn whoever_waits_starts_or_is_refused_in_bounded_time(
        steps in prop::collection::vec(step(), 1..200),
        tells_idle in any::<bool>(),
    ) {
        let mut driver = Driver::new(tells_idle);
        play(&mut driver, steps);
        let until = driver.now() + MAX_MS + 50.0;
        while driver.waiting() > 0 {
            prop_assert!(driver.now() < until, "{} wait", driver.waiting());
            driver.turn(f64::INFINITY, 0.0, false);
        }
        adds_up(&driver);
    }

    /// When all have ended nothing is left, and the next one that comes after a sleep starts at once.
    #[test]
    fn when_all_have_ended_it_is_as_it_was(
        steps in prop::collection::vec(step(), 1..200),
        tells_idle in any::<bool>(),
    ) {
        let mut driver = Driver::new(tells_idle);
        play(&mut driver, steps);
        while !driver.open.is_empty() {
            driver.end(0);
            driver.turn(1.0, 0.1, true);
        }
        adds_up(&driver);
        // The second one ends a sleep that somebody had asked for who has left.
        for _ in 0..3 {
            driver.turn(1_000.0, 0.0, true);
        }
        let started = driver.started;
        driver.offer(0, 0, f64::INFINITY);
        prop_assert_eq!(driver.started, started + 1);
    }
}
