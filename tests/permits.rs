//! Who gets a permit, and what an adaptive limiter learns: cases in which other limiters have failed.

use resilience::core::algorithm::{Algorithm, Gradient2, Sample};
use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Reason, Refusal};
use resilience::core::engine::Engine;
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::queue::Overflow;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

fn permits(limit: u32, queue_limit: usize) -> Concurrency {
    Concurrency::new(limit, queue_limit, f64::INFINITY, Overflow::RejectNew)
}

fn engine(gate: Gate) -> (Engine, Key) {
    let mut engine = Engine::default();
    let segment = engine.add_segment(vec![gate]).expect("one gate");
    (engine, segment)
}

fn run(engine: &mut Engine, segment: Key) -> Key {
    match engine.enter(segment, None) {
        Ok(Entry::Running(ticket)) => ticket,
        other => panic!("{other:?} instead of a permit"),
    }
}

fn wait(engine: &mut Engine, segment: Key, priority: f64) -> Key {
    match engine.enter(segment, Some(priority)) {
        Ok(Entry::Waiting(ticket)) => ticket,
        other => panic!("{other:?} instead of a place in the queue"),
    }
}

fn succeed(engine: &mut Engine, ticket: Key) {
    engine.exit(ticket, Outcomes::all(Outcome::Success)).expect("an open ticket");
}

fn counts(engine: &Engine, segment: Key) -> (u32, usize) {
    let permits = engine.permits(segment, 0).expect("a limiter");
    (permits.in_flight(), permits.queued())
}

fn take(engine: &mut Engine) -> Vec<Effect> {
    std::mem::take(engine.effects()).into()
}

#[test]
fn a_newcomer_never_takes_the_permit_that_a_release_has_handed_to_a_waiter() {
    let (mut engine, segment) = engine(Gate::Concurrency(permits(1, 1)));
    let running = run(&mut engine, segment);
    let waiter = wait(&mut engine, segment, 0.0);
    succeed(&mut engine, running);
    assert_eq!(take(&mut engine), [Effect::Admitted { ticket: waiter }]);

    let newcomer = wait(&mut engine, segment, f64::NEG_INFINITY);
    assert_eq!(counts(&engine, segment), (1, 1));
    let refusal = Refusal { gate: 0, reason: Reason::Full, active: 1, queued: 1, retry_after_ms: None };
    assert_eq!(engine.enter(segment, None), Ok(Entry::Refused(refusal)));
    succeed(&mut engine, waiter);
    assert_eq!(take(&mut engine), [Effect::Admitted { ticket: newcomer }]);
}

#[test]
fn a_release_and_a_newcomer_of_one_moment_never_exceed_the_limit() {
    let (mut engine, segment) = engine(Gate::Concurrency(permits(3, 0)));
    let mut running: Vec<_> = (0..3).map(|_| run(&mut engine, segment)).collect();
    for turn in 0..1000 {
        succeed(&mut engine, running.remove(turn % 3));
        running.push(run(&mut engine, segment));
        assert!(matches!(engine.enter(segment, None), Ok(Entry::Refused(_))));
        assert_eq!(counts(&engine, segment), (3, 0));
    }
}

#[test]
fn a_high_priority_behind_a_hundred_low_ones_is_served_at_the_next_release() {
    let (mut engine, segment) = engine(Gate::Concurrency(permits(1, 101)));
    let running = run(&mut engine, segment);
    let low: Vec<_> = (0..100).map(|_| wait(&mut engine, segment, 10.0)).collect();
    let high = wait(&mut engine, segment, 1.0);
    let mut served = running;
    for next in std::iter::once(&high).chain(&low) {
        succeed(&mut engine, served);
        assert_eq!(take(&mut engine), [Effect::Admitted { ticket: *next }]);
        served = *next;
    }
}

#[test]
fn a_limit_lowered_below_what_is_in_flight_admits_nobody_until_it_is_undercut() {
    let adaptive = Adaptive::new(permits(4, 9), Algorithm::Outside, 1, 10);
    let (mut engine, segment) = engine(Gate::Adaptive(adaptive));
    let running: Vec<_> = (0..4).map(|_| run(&mut engine, segment)).collect();
    let waiters: Vec<_> = (0..3).map(|_| wait(&mut engine, segment, 0.0)).collect();

    let sample = Sample { rtt_ms: 1.0, inflight: 4, dropped: true, limit: 4.0, ..Sample::default() };
    engine.apply_limit(segment, 0, 2.0, sample, 0).expect("an adaptive limiter");
    assert_eq!(take(&mut engine), [Effect::LimitChanged { segment, gate: 0, old: 4, new: 2, sample }]);

    for (ticket, in_flight) in running[..2].iter().zip([3, 2]) {
        engine.exit(*ticket, Outcomes::all(Outcome::NoSample)).expect("an open ticket");
        assert_eq!(counts(&engine, segment), (in_flight, 3));
    }
    assert_eq!(take(&mut engine), []);
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Waiting(_))));

    engine.exit(running[2], Outcomes::all(Outcome::NoSample)).expect("an open ticket");
    assert_eq!(take(&mut engine), [Effect::Admitted { ticket: waiters[0] }]);
    assert_eq!(counts(&engine, segment), (2, 3));
}

/// Runs rounds of ten executions of 10 ms each, and gives the limit back.
fn warm(engine: &mut Engine, segment: Key, from_ms: f64, rounds: u32) -> u32 {
    for round in 0..rounds {
        let begin = from_ms + f64::from(round) * 10.0;
        engine.at(Nanos::from_ms(begin), Driver::Wheel);
        let running: Vec<_> = (0..10).map(|_| run(engine, segment)).collect();
        engine.at(Nanos::from_ms(begin + 10.0), Driver::Wheel);
        for ticket in running {
            succeed(engine, ticket);
        }
    }
    engine.permits(segment, 0).expect("a limiter").limit()
}

/// A failure such as 404 comes fast and says nothing of load: a limiter that has seen a thousand decides as
/// one that has seen none.
#[test]
fn a_burst_of_executions_without_a_sample_teaches_nothing() {
    let [with, without] = [true, false].map(|burst| {
        let adaptive = Adaptive::new(permits(10, 0), Algorithm::Gradient2(Gradient2::default()), 1, 100);
        let (mut engine, segment) = engine(Gate::Adaptive(adaptive));
        let before = warm(&mut engine, segment, 0.0, 3);
        take(&mut engine);
        if burst {
            for call in 0..1000 {
                let begin = 1000.0 + f64::from(call);
                engine.at(Nanos::from_ms(begin), Driver::Wheel);
                let ticket = run(&mut engine, segment);
                engine.at(Nanos::from_ms(begin + f64::from(call % 7) / 10.0), Driver::Wheel);
                engine.exit(ticket, Outcomes::all(Outcome::NoSample)).expect("an open ticket");
                assert_eq!(engine.permits(segment, 0).expect("a limiter").limit(), before);
            }
        }
        assert_eq!(take(&mut engine), []);
        warm(&mut engine, segment, 3000.0, 1);
        (before, take(&mut engine))
    });
    assert_eq!(with, without);
    assert!(!with.1.is_empty(), "the limiter still learns from samples");
}

#[test]
fn a_permit_handed_over_at_the_instant_of_its_waiters_timeout_is_never_lost() {
    let gate = Concurrency::new(1, 1, 1.0, Overflow::RejectNew);
    let (mut engine, segment) = engine(Gate::Concurrency(gate));
    for round in 0..1_000_000_u32 {
        engine.at(Nanos::from_ms(f64::from(round) * 2.0), Driver::Wheel);
        let running = run(&mut engine, segment);
        let waiter = wait(&mut engine, segment, 0.0);
        engine.at(Nanos::from_ms(f64::from(round).mul_add(2.0, 1.0)), Driver::Wheel);
        let release_first = round % 2 == 0;
        if release_first {
            succeed(&mut engine, running);
            engine.tick();
            assert_eq!(take(&mut engine), [Effect::Admitted { ticket: waiter }]);
        } else {
            engine.tick();
            assert_eq!(counts(&engine, segment), (1, 0));
            succeed(&mut engine, running);
            let refusal =
                Refusal { gate: 0, reason: Reason::QueueTimeout, active: 1, queued: 0, retry_after_ms: None };
            assert_eq!(take(&mut engine), [Effect::Rejected { ticket: waiter, refusal }]);
        }
        succeed(&mut engine, waiter);
        assert_eq!((counts(&engine, segment), engine.open(), engine.next_tick()), ((0, 0), 0, None));
    }
}
