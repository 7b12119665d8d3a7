//! Important requests, as long as they alone are less than the loop can do.

use resilience::core::simulate::scenario::{Caller, Scenario};

use super::support::{Row, Shape, after, caller, mean, runs, scenario, sync};

/// A fifth of what comes is important.
fn mixed(shape: Shape, load: f64) -> Scenario {
    let rate = load * shape.capacity();
    let mut mixed = scenario(shape, 0.0, 12.0);
    mixed.callers =
        vec![Caller { priority: 0.0, ..caller(0.2 * rate) }, Caller { priority: 5.0, ..caller(0.8 * rate) }];
    mixed
}

#[test]
fn they_are_all_answered() {
    for (shape, load, p99_ms) in [
        (sync(5.0), 1.5, 60.0),
        (sync(5.0), 2.0, 60.0),
        (sync(5.0), 4.0, 150.0),
        (sync(5.0).fresh(), 4.0, 200.0),
        (after(5.0, 50.0), 2.0, 250.0),
        (after(5.0, 50.0), 4.0, 300.0),
    ] {
        let rows = runs(&mixed(shape, load), 4.0);
        let important = mean(&rows, |row| row.figures.callers[0].goodput);
        let p99 = mean(&rows, |row| row.figures.callers[0].p99);
        let goodput = mean(&rows, Row::goodput);
        let case = format!("{} ms, {} ms of I/O, at {load}x", shape.cpu, shape.io);
        println!("{case}: important {:.1} %, p99 {p99:.0} ms, goodput of all {goodput:.1} %", 100.0 * important);
        assert!(important >= 0.995, "{case}: {important}");
        assert!(p99 <= p99_ms, "{case}: p99 {p99} ms");
        assert!(goodput >= 80.0, "{case}: goodput of all {goodput}");
    }
}

/// What is less important is refused at once, not after it has waited.
#[test]
fn those_who_will_be_overtaken_are_told_at_the_door() {
    let rows = runs(&mixed(sync(5.0), 4.0), 4.0);
    let refusals = mean(&rows, |row| row.refusal_p99);
    assert!(refusals <= 20.0, "{refusals} ms");
}
