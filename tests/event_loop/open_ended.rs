//! Requests that last: event streams, of which the first byte leaves at once, and long polls, of which it does not.
//! They must not take the places of those that compute.

use resilience::core::simulate::record::End;
use resilience::core::simulate::scenario::{Arrivals, Caller, Scenario};

use super::support::{Row, Shape, after, caller, is_refusal, run, scenario, service, sync, then, with};

const POLLS: u32 = 200;
const STREAMS: u32 = 1_000;

/// Ordinary requests, then long polls of 10 s and event streams of 30 s, as many as there are users.
fn beside(shape: Shape, load: f64, seconds: f64) -> Scenario {
    let mut mixed = with(scenario(shape, load, seconds), |event_loop| event_loop.io_calls = 1);
    for (users, lasts_ms, streams) in [(POLLS, 10_000.0, false), (STREAMS, 30_000.0, true)] {
        mixed.callers.push(Caller {
            arrivals: Arrivals::Closed { users, think_ms: 3_000.0 },
            service: Some(service(lasts_ms, true)),
            cpu: Some(service(0.5, false)),
            streams,
            ..caller(0.0)
        });
    }
    mixed
}

/// Of ordinary requests from a second on: how many were refused, and the share that was answered in time.
fn ordinary(row: &Row, from: f64) -> (usize, f64) {
    let own = || row.record.calls.iter().filter(|call| call.caller == 0 && call.came_ms() >= 1_000.0 * from);
    let good = own().filter(|call| call.end == End::Answered && call.took_ms <= 1_000.0).count();
    let refused = own().filter(|call| is_refusal(call)).count();
    let [good, all] = [good, own().count()].map(|count| f64::from(u32::try_from(count).expect("few")));
    (refused, good / all)
}

#[test]
fn a_thousand_streams_and_two_hundred_long_polls_take_nothing_from_half_a_load() {
    for shape in [sync(5.0), after(5.0, 50.0), after(2.0, 200.0)] {
        let row = run(&beside(shape, 0.5, 30.0), 1, 0.0);
        let (refused, good) = ordinary(&row, 0.0);
        assert_eq!(refused, 0, "{} ms and {}", shape.cpu, shape.io);
        assert!(good > 0.99, "{} ms and {}: {good}", shape.cpu, shape.io);
    }
}

#[test]
fn they_do_not_fill_a_limit_that_overload_has_set() {
    for shape in [sync(5.0), after(5.0, 50.0), after(2.0, 200.0)] {
        let capacity = shape.capacity();
        let loaded = then(then(beside(shape, 0.5, 40.0), 10.0, 2.0 * capacity), 25.0, 0.5 * capacity);
        let row = run(&loaded, 1, 12.0);
        // Twice the capacity: the best is half of them, less what refusing and the others cost.
        let mut during = row;
        during.record.calls.retain(|call| call.came_ms() < 25_000.0);
        let (_, good) = ordinary(&during, 12.0);
        assert!(good > 0.42, "{} ms and {}: {good} of twice the capacity", shape.cpu, shape.io);
        let (refused, good) = ordinary(&run(&loaded, 1, 27.0), 27.0);
        assert_eq!(refused, 0, "{} ms and {}, after it", shape.cpu, shape.io);
        assert!(good > 0.97, "{} ms and {}, after it: {good}", shape.cpu, shape.io);
    }
}
