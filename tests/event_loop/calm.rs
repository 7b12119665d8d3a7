//! Where nothing is to be refused.

use resilience::core::simulate::scenario::{Arrivals, Caller, Phase, Scenario};

use super::support::{Shape, after, caller, mean, pausing, runs, scenario, service, sync};

fn refuses_nobody(case: &str, calm: &Scenario) {
    for (seed, row) in (1..).zip(runs(calm, 0.0)) {
        assert_eq!(row.refused, 0, "{case}, seed {seed}");
        assert!(row.goodput() > 96.0, "{case}, seed {seed}: {} %", row.goodput());
    }
}

#[test]
fn load_below_the_capacity_with_pauses_of_300_ms() {
    for load in [0.5, 0.7, 0.8] {
        refuses_nobody("synchronous", &pausing(scenario(sync(5.0), load, 14.0)));
        refuses_nobody("fresh", &pausing(scenario(sync(5.0).fresh(), load, 14.0)));
    }
    // A pause of 300 ms every 2 s is 15 % of the capacity.
    for load in [0.5, 0.7] {
        refuses_nobody("5 ms after 20", &pausing(scenario(after(5.0, 20.0), load, 14.0)));
        refuses_nobody("5 ms after 50", &pausing(scenario(after(5.0, 50.0), load, 14.0)));
        refuses_nobody("2 ms after 200", &pausing(scenario(after(2.0, 200.0), load, 14.0)));
    }
}

/// 60 requests within a millisecond, beside half a load.
#[test]
fn a_burst_of_60() {
    for shape in [sync(5.0), sync(5.0).fresh(), after(5.0, 50.0)] {
        let mut burst = scenario(shape, 0.5, 14.0);
        burst.callers.push(Caller { arrivals: Arrivals::Even, ..caller(0.0) });
        for (at_ms, rate) in [(6_000.0, 60_000.0), (6_001.0, 0.0)] {
            burst.phases.push(Phase { at_ms, rates: vec![f64::NAN, rate], ..Phase::default() });
        }
        refuses_nobody("a burst", &burst);
    }
}

/// 60 requests within a millisecond every two seconds, beside seven tenths of the capacity.
#[test]
fn bursts_of_60_again_and_again() {
    for shape in [sync(5.0), sync(5.0).fresh()] {
        let mut bursts = scenario(shape, 0.7, 20.0);
        bursts.callers.push(Caller { arrivals: Arrivals::Even, ..caller(0.0) });
        for second in (3..18).step_by(2) {
            for (after_ms, rate) in [(0.0, 60_000.0), (1.0, 0.0)] {
                let at_ms = 1_000.0 * f64::from(second) + after_ms;
                bursts.phases.push(Phase { at_ms, rates: vec![f64::NAN, rate], ..Phase::default() });
            }
        }
        refuses_nobody("bursts", &bursts);
    }
}

#[test]
fn nine_tenths_of_the_capacity() {
    refuses_nobody("even handlers", &scenario(sync(5.0), 0.9, 14.0));
    let rows = runs(&scenario(Shape { varies: true, ..sync(5.0) }, 0.9, 14.0), 4.0);
    assert!(mean(&rows, |row| row.figures.rejected) < 0.02);
}

/// Requests come as seldom as once a second while other work keeps the loop busy for a seventh of the time; then 20
/// come at once. What the loop did for others is no cost of theirs.
#[test]
fn a_burst_after_little_traffic() {
    for io in [0.0, 50.0, 200.0] {
        let mut quiet = pausing(scenario(after(5.0, io), 0.0, 34.0));
        quiet.callers[0].rate = 1.0;
        quiet.callers.push(Caller { arrivals: Arrivals::Even, ..caller(0.0) });
        for second in [20.0, 25.0, 30.0] {
            for (after_ms, rate) in [(500.0, 20_000.0), (501.0, 0.0)] {
                let at_ms = 1_000.0 * second + after_ms;
                quiet.phases.push(Phase { at_ms, rates: vec![f64::NAN, rate], ..Phase::default() });
            }
        }
        refuses_nobody("quiet", &quiet);
    }
}

/// The first requests load and compile what the others then have.
#[test]
fn a_cold_start() {
    for shape in [sync(5.0), sync(5.0).fresh(), after(5.0, 50.0)] {
        let mut cold = scenario(shape, 0.5, 14.0);
        let first = caller(100.0);
        cold.callers.push(Caller { arrivals: Arrivals::Even, cpu: Some(service(60.0, false)), ..first });
        cold.phases.push(Phase { at_ms: 45.0, rates: vec![f64::NAN, 0.0], ..Phase::default() });
        refuses_nobody("a cold start", &cold);
    }
}
