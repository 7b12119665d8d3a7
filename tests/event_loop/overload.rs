//! Handlers that compute and do nothing else, and more of them than the loop can run.

use super::support::{Row, Shape, mean, refusals_end_with_the_overload, runs, scenario, sync, then, with};

/// What has been started before may take a slice, and so may what is started before it.
const SLICES_MS: f64 = 10.0;
const TARGET_MS: f64 = 100.0;

fn holds(shape: Shape, load: f64, accepts_all: bool) {
    let case = format!("{} ms at {load}x, fresh: {}, accepts all: {accepts_all}", shape.cpu, shape.fresh);
    let loaded = with(scenario(shape, load, 12.0), |event_loop| event_loop.accepts_all = accepts_all);
    let rows = runs(&loaded, 4.0);
    let (goodput, p99, refusals) =
        (mean(&rows, Row::goodput), mean(&rows, |row| row.p99), mean(&rows, |row| row.refusal_p99));
    println!("{case}: goodput {goodput:.1} %, p99 {p99:.0} ms, of refusals {refusals:.0} ms");
    let bound = 100.0 * shape.bound(load);
    assert!(goodput >= bound - 2.0, "{case}: goodput {goodput}, and {bound} is what refusing leaves");
    assert!(p99 <= TARGET_MS + SLICES_MS + 1.25 * shape.cpu, "{case}: p99 {p99} ms");
    assert!(refusals <= 10.0, "{case}: 99 % of the refusals within {refusals} ms");
}

#[test]
fn goodput_is_what_refusing_leaves_and_nobody_waits_longer_than_the_target() {
    for load in [1.5, 2.0, 5.0] {
        holds(sync(5.0), load, false);
        holds(sync(2.0), load, false);
    }
}

#[test]
fn connections_of_their_own_are_accepted_as_fast_as_they_come() {
    for load in [1.5, 2.0, 5.0] {
        holds(sync(5.0).fresh(), load, false);
        holds(sync(5.0).fresh(), load, true);
    }
}

#[test]
fn a_runtime_that_does_not_tell_how_long_the_loop_sleeps_makes_no_difference() {
    for (shape, load) in [(sync(5.0), 2.0), (sync(5.0), 5.0), (sync(5.0).fresh(), 2.0)] {
        let told = runs(&scenario(shape, load, 12.0), 4.0);
        let untold = with(scenario(shape, load, 12.0), |event_loop| event_loop.tells_idle = false);
        let untold = runs(&untold, 4.0);
        let [told, untold] = [told, untold].map(|rows| mean(&rows, Row::goodput));
        assert!((told - untold).abs() < 1.0, "{load}x: {told} %, and {untold} % if nothing is told");
    }
}

/// Exponential times: a mean of 5 ms, 1 in 150 longer than 25 ms.
#[test]
fn handlers_that_vary() {
    let rows = runs(&scenario(Shape { varies: true, ..sync(5.0) }, 2.0, 12.0), 4.0);
    assert!(mean(&rows, Row::goodput) >= 96.0);
    assert!(mean(&rows, |row| row.p99) <= 175.0);
}

/// Each fills many slices: what has come meanwhile is read together, and is no burst.
#[test]
fn handlers_that_compute_for_long() {
    for (cpu, least, most_ms) in [(50.0, 97.0, 200.0), (300.0, 90.0, 700.0)] {
        let rows = runs(&scenario(sync(cpu), 2.0, 40.0), 8.0);
        let (goodput, p99) = (mean(&rows, Row::goodput), mean(&rows, |row| row.p99));
        println!("{cpu} ms: {goodput:.1} %, p99 {p99:.0} ms");
        assert!(goodput >= least && p99 <= most_ms, "{cpu} ms: {goodput} %, {p99} ms");
    }
}

#[test]
fn a_step_from_half_the_capacity_costs_little() {
    for (load, least) in [(2.0, 96.0), (5.0, 90.0)] {
        let shape = sync(5.0);
        let step = then(scenario(shape, 0.5, 12.0), 4.0, load * shape.capacity());
        let rows = runs(&step, 4.0);
        let (goodput, p99) = (mean(&rows, Row::goodput), mean(&rows, |row| row.p99));
        assert!(goodput >= least && p99 <= 500.0, "to {load}x: {goodput} %, {p99} ms");
    }
}

#[test]
fn the_last_refusal_is_within_a_second_of_the_end() {
    for shape in [sync(5.0), sync(5.0).fresh(), sync(2.0)] {
        refusals_end_with_the_overload(shape);
    }
}

/// What the same loop makes of it without protection, and with a limit in flight, which is one at the most.
#[test]
fn without_it_nobody_is_answered_in_time() {
    for limit in [1_000_000, 10] {
        let mut open = with(scenario(sync(5.0), 2.0, 12.0), |event_loop| event_loop.overload = None);
        open.limiter.initial_limit = limit;
        let goodput = mean(&runs(&open, 4.0), Row::goodput);
        assert!(goodput < 1.0, "{goodput} %");
    }
}
