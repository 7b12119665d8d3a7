//! Handlers that wait for a dependency and compute then: when they start they cost nothing.

use super::support::{Row, Shape, after, mean, refusals_end_with_the_overload, runs, scenario, then, with};

/// Goodput at least, and p99 at most, of twice and five times the capacity.
type Bounds = [(f64, f64, f64); 2];

fn holds(shape: Shape, bounds: Bounds, tells_idle: bool) {
    for (load, least, p99_ms) in bounds {
        let loaded = with(scenario(shape, load, 12.0), |event_loop| event_loop.tells_idle = tells_idle);
        let rows = runs(&loaded, 4.0);
        let (goodput, p99) = (mean(&rows, Row::goodput), mean(&rows, |row| row.p99));
        let Shape { cpu, before, io, fresh, .. } = shape;
        let case = format!("{cpu} ms, {before} of it before {io} ms, fresh: {fresh}, at {load}x");
        println!("{case}: {goodput:.1} %, {p99:.0} ms");
        assert!(goodput >= least, "{case}: {goodput} %");
        assert!(p99 <= p99_ms, "{case}: {p99} ms");
    }
}

#[test]
fn kept_connections() {
    holds(after(5.0, 20.0), [(2.0, 97.0, 200.0), (5.0, 91.0, 220.0)], true);
    holds(after(5.0, 50.0), [(2.0, 97.0, 240.0), (5.0, 91.0, 240.0)], true);
    holds(after(5.0, 200.0), [(2.0, 96.0, 410.0), (5.0, 91.0, 370.0)], true);
    holds(after(2.0, 200.0), [(2.0, 93.0, 420.0), (5.0, 78.0, 400.0)], true);
}

#[test]
fn fresh_connections() {
    holds(after(5.0, 20.0).fresh(), [(2.0, 90.0, 230.0), (5.0, 77.0, 260.0)], true);
    holds(after(5.0, 50.0).fresh(), [(2.0, 90.0, 290.0), (5.0, 77.0, 260.0)], true);
    // One accept a turn, and long I/O: the weakest rows.
    holds(after(5.0, 200.0).fresh(), [(2.0, 76.0, 650.0), (5.0, 76.0, 450.0)], true);
    holds(after(2.0, 200.0).fresh(), [(2.0, 80.0, 450.0), (5.0, 50.0, 450.0)], true);
}

#[test]
fn half_before_and_half_after_and_all_before() {
    let around = Shape { before: 0.5, ..after(4.0, 50.0) };
    holds(around, [(2.0, 96.0, 190.0), (5.0, 89.0, 200.0)], true);
    let before = Shape { before: 1.0, ..after(5.0, 50.0) };
    holds(before, [(2.0, 96.0, 180.0), (5.0, 91.0, 180.0)], true);
}

#[test]
fn a_runtime_that_does_not_tell_how_long_the_loop_sleeps() {
    holds(after(5.0, 50.0), [(2.0, 96.0, 240.0), (5.0, 91.0, 240.0)], false);
    holds(after(2.0, 200.0), [(2.0, 92.0, 420.0), (5.0, 76.0, 420.0)], false);
}

#[test]
fn io_in_five_steps() {
    let steps = with(scenario(after(5.0, 20.0), 2.0, 12.0), |event_loop| event_loop.io_calls = 5);
    let rows = runs(&steps, 4.0);
    assert!(mean(&rows, Row::goodput) >= 95.0, "{}", mean(&rows, Row::goodput));
}

#[test]
fn a_dependency_that_becomes_slower_needs_more_in_flight_and_gets_it() {
    let mut slower = scenario(after(5.0, 20.0), 0.6, 12.0);
    for (second, slowdown) in [(6.0, 20.0), (9.0, 1.0)] {
        slower = then(slower, second, f64::NAN);
        slower.phases.last_mut().expect("just added").slowdown = Some(slowdown);
    }
    for row in runs(&slower, 0.0) {
        assert_eq!(row.refused, 0);
    }
}

#[test]
fn the_last_refusal_is_soon_after_the_end() {
    for shape in [after(5.0, 50.0), after(2.0, 200.0)] {
        refusals_end_with_the_overload(shape);
    }
}

#[test]
fn handlers_that_compute_for_long() {
    for (shape, least) in [(after(20.0, 100.0), 93.0), (after(50.0, 200.0), 75.0)] {
        let rows = runs(&scenario(shape, 2.0, 20.0), 4.0);
        let (goodput, p99) = (mean(&rows, Row::goodput), mean(&rows, |row| row.p99));
        println!("{} after {}: {goodput}, {p99}", shape.cpu, shape.io);
        assert!(goodput >= least, "{} ms: {goodput} %", shape.cpu);
    }
}
