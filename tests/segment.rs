//! A segment of several gates, step by step.

use resilience::core::algorithm::{Aimd, Algorithm, Sample};
use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Reason, Refusal};
use resilience::core::engine::Engine;
use resilience::core::error::Error;
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::queue::Overflow;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

struct Bench {
    engine: Engine,
    segment: Key,
}

impl Bench {
    fn new(gates: Vec<Gate>) -> Self {
        let mut engine = Engine::default();
        let segment = engine.add_segment(gates).expect("a segment of few gates");
        Self { engine, segment }
    }

    /// Goes to this millisecond, and gives back what happened there.
    fn at(&mut self, ms: f64) -> Vec<Effect> {
        self.engine.at(Nanos::from_ms(ms), Driver::Wheel);
        self.engine.tick();
        self.effects()
    }

    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(self.engine.effects()).into()
    }

    fn run(&mut self) -> Key {
        self.enter(None)
    }

    /// Runs with a timeout of its own at the first gate.
    fn run_for(&mut self, timeout_ms: f64) -> Key {
        self.enter(Some(timeout_ms))
    }

    fn enter(&mut self, parameter: Option<f64>) -> Key {
        match self.engine.enter(self.segment, parameter) {
            Ok(Entry::Running(ticket)) => ticket,
            other => panic!("{other:?} instead of passing every gate"),
        }
    }

    fn wait(&mut self) -> Key {
        match self.engine.enter(self.segment, None) {
            Ok(Entry::Waiting(ticket)) => ticket,
            other => panic!("{other:?} instead of waiting"),
        }
    }

    fn exit(&mut self, ticket: Key, outcome: Outcome) -> Vec<Effect> {
        self.engine.exit(ticket, Outcomes::all(outcome)).expect("an open ticket");
        self.effects()
    }

    /// In flight and queued at each gate of a segment of limiters.
    fn counts(&self) -> Vec<(u32, usize)> {
        let permits = (0..).map_while(|gate| self.engine.permits(self.segment, gate));
        permits.map(|permits| (permits.in_flight(), permits.queued())).collect()
    }
}

fn fixed(limit: u32, queue: usize, queue_timeout_ms: f64) -> Gate {
    Gate::Concurrency(Concurrency::new(limit, queue, queue_timeout_ms, Overflow::RejectNew))
}

/// Its algorithm is outside the core, so that every sample is seen.
fn adaptive(limit: u32) -> Gate {
    let permits = Concurrency::new(limit, 9, f64::INFINITY, Overflow::RejectNew);
    Gate::Adaptive(Adaptive::new(permits, Algorithm::Outside, 1, 10))
}

const fn deadline(timeout_ms: f64) -> Gate {
    Gate::Deadline(Deadline { timeout_ms })
}

#[test]
fn a_refusal_further_in_gives_back_what_does_not_learn() {
    let mut bench = Bench::new(vec![fixed(3, 0, f64::INFINITY), deadline(5.0), fixed(1, 0, f64::INFINITY)]);
    bench.run();
    let refusal = Refusal { gate: 2, reason: Reason::Full, active: 1, queued: 0, retry_after_ms: None };
    assert_eq!(bench.engine.enter(bench.segment, None), Ok(Entry::Refused(refusal)));
    assert_eq!(bench.effects(), []);
    assert_eq!(bench.engine.permits(bench.segment, 0).map(Concurrency::in_flight), Some(1));
    assert_eq!(bench.engine.open(), 1);
}

#[test]
fn a_refusal_behind_a_gate_that_learns_keeps_the_permits_outside_until_the_exit() {
    let mut bench = Bench::new(vec![adaptive(3), fixed(1, 0, f64::INFINITY)]);
    bench.run();
    let refused = bench.wait();
    let refusal = Refusal { gate: 1, reason: Reason::Full, active: 1, queued: 0, retry_after_ms: None };
    assert_eq!(bench.effects(), [Effect::Rejected { ticket: refused, refusal }]);
    assert_eq!(bench.counts(), [(2, 0), (1, 0)]);
    assert!(matches!(bench.exit(refused, Outcome::Drop)[..], [Effect::Sampled { .. }]));
    assert_eq!(bench.counts(), [(1, 0), (1, 0)]);
}

#[test]
fn a_released_permit_takes_its_waiter_through_the_gates_after_it() {
    let mut bench = Bench::new(vec![fixed(1, 9, f64::INFINITY), fixed(9, 0, f64::INFINITY)]);
    let running = bench.run();
    let waiter = bench.wait();
    assert_eq!(bench.counts(), [(1, 1), (1, 0)]);
    assert_eq!(bench.exit(running, Outcome::Success), [Effect::Admitted { ticket: waiter }]);
    assert_eq!(bench.counts(), [(1, 0), (1, 0)]);
}

#[test]
fn a_deadline_outside_ends_the_wait_for_a_permit() {
    let mut bench = Bench::new(vec![deadline(10.0), fixed(1, 9, 15.0)]);
    let running = bench.run_for(f64::INFINITY);
    let first = bench.wait();
    assert_eq!(bench.at(5.0), []);
    let second = bench.wait();
    assert_eq!(bench.at(10.0), [Effect::TimedOut { ticket: first, gate: 0 }]);
    assert_eq!(bench.exit(running, Outcome::Success), [Effect::Admitted { ticket: second }]);
    assert_eq!(bench.exit(first, Outcome::Drop), []);
    assert_eq!(bench.at(15.0), [Effect::TimedOut { ticket: second, gate: 0 }]);
    assert_eq!(bench.engine.next_tick(), None);
}

#[test]
fn a_queue_timeout_turns_away_with_the_counts_of_that_moment() {
    let mut bench = Bench::new(vec![fixed(1, 9, 20.0), deadline(f64::INFINITY)]);
    let running = bench.run();
    let [first, second] = [(); 2].map(|()| bench.wait());
    assert_eq!(bench.at(19.9), []);
    let rejected = |ticket, queued| Effect::Rejected {
        ticket,
        refusal: Refusal { gate: 0, reason: Reason::QueueTimeout, active: 1, queued, retry_after_ms: None },
    };
    assert_eq!(bench.at(20.0), [rejected(first, 1), rejected(second, 0)]);
    assert_eq!(bench.exit(running, Outcome::Success), []);
}

#[test]
fn an_execution_states_its_own_timeout_to_a_first_gate_only() {
    let mut bench = Bench::new(vec![deadline(10.0), deadline(30.0)]);
    let ticket = bench.run_for(50.0);
    assert_eq!(bench.at(29.0), []);
    assert_eq!(bench.at(30.0), [Effect::TimedOut { ticket, gate: 1 }]);
}

#[test]
fn dispose_turns_the_waiters_away_and_disarms_every_deadline() {
    let mut bench = Bench::new(vec![fixed(2, 9, 20.0), deadline(5.0), fixed(1, 9, 20.0)]);
    let running = bench.run();
    let [inner, outer] = [(); 2].map(|()| bench.wait());
    bench.engine.dispose(bench.segment).expect("the segment is there");
    let rejected = |ticket, gate, active| Effect::Rejected {
        ticket,
        refusal: Refusal { gate, reason: Reason::Disposed, active, queued: 0, retry_after_ms: None },
    };
    assert_eq!(bench.effects(), [rejected(outer, 0, 2), rejected(inner, 2, 1)]);
    assert_eq!(bench.engine.next_tick(), None);
    for ticket in [inner, outer, running] {
        assert_eq!(bench.exit(ticket, Outcome::NoSample), []);
    }
    assert_eq!(bench.engine.open(), 0);
}

#[test]
fn latency_is_measured_from_the_permit_to_the_first_byte() {
    let mut bench = Bench::new(vec![adaptive(1)]);
    let segment = bench.segment;
    let running = bench.run();
    let waiter = bench.wait();
    let sampled = |started_ms, rtt_ms, now_ms| Effect::Sampled {
        segment,
        gate: 0,
        sample: Sample { rtt_ms, inflight: 1, limit: 1.0, now_ms, started_ms, ..Sample::default() },
        cuts: 0,
    };
    bench.at(20.0);
    let expected = [sampled(0.0, 20.0, 20.0), Effect::Admitted { ticket: waiter }];
    assert_eq!(bench.exit(running, Outcome::Success), expected);
    for ms in [25.0, 28.0] {
        bench.at(ms);
        bench.engine.mark(waiter).expect("an open ticket");
    }
    bench.at(90.0);
    assert_eq!(bench.exit(waiter, Outcome::Success), [sampled(20.0, 5.0, 90.0)]);
}

#[test]
fn each_gate_learns_its_own_outcome() {
    let mut bench = Bench::new(vec![adaptive(4), adaptive(4), adaptive(4)]);
    let ticket = bench.run();
    let [drop, no_sample, success] = [1, 2, 0];
    let outcomes = Outcomes(drop | no_sample << 2 | success << 4);
    bench.engine.exit(ticket, outcomes).expect("an open ticket");
    let learned: Vec<_> = bench
        .effects()
        .into_iter()
        .map(|effect| match effect {
            Effect::Sampled { gate, sample, .. } => (gate, sample.dropped),
            other => panic!("{other:?} instead of a sample"),
        })
        .collect();
    assert_eq!(learned, [(2, false), (0, true)]);
}

#[test]
fn one_flight_cuts_the_limit_once_even_while_the_clock_stands_still() {
    let permits = Concurrency::new(20, 0, f64::INFINITY, Overflow::RejectNew);
    let aimd = Algorithm::Aimd(Aimd::default());
    let mut bench = Bench::new(vec![Gate::Adaptive(Adaptive::new(permits, aimd, 1, 100))]);
    let flight: Vec<_> = (0..20).map(|_| bench.run()).collect();
    for ticket in flight {
        bench.exit(ticket, Outcome::Drop);
    }
    assert_eq!(bench.engine.permits(bench.segment, 0).map(Concurrency::limit), Some(18));
    let next = bench.run();
    bench.exit(next, Outcome::Drop);
    assert_eq!(bench.engine.permits(bench.segment, 0).map(Concurrency::limit), Some(16));
}

#[test]
fn the_time_that_remains_is_that_of_the_first_armed_deadline() {
    let mut bench = Bench::new(vec![deadline(10.0), fixed(1, 9, 2.0), deadline(4.0)]);
    let running = bench.run_for(50.0);
    let queued = bench.wait();
    assert_eq!(bench.engine.remaining_ms(running), Ok(Some(4.0)));
    assert_eq!(bench.engine.remaining_ms(queued), Ok(Some(10.0)), "the end of its wait is no deadline");
    bench.at(1.5);
    assert_eq!(bench.engine.remaining_ms(running), Ok(Some(2.5)));
    assert_eq!(bench.exit(running, Outcome::Success), [Effect::Admitted { ticket: queued }]);
    assert_eq!(bench.engine.remaining_ms(running), Err(Error::StaleTicket));
    assert_eq!(bench.engine.remaining_ms(queued), Ok(Some(4.0)));
    assert_eq!(bench.at(6.0), [Effect::TimedOut { ticket: queued, gate: 2 }]);
    assert_eq!(bench.engine.remaining_ms(queued), Ok(None));

    let mut endless = Bench::new(vec![deadline(10.0)]);
    let ticket = endless.run_for(f64::INFINITY);
    assert_eq!(endless.engine.remaining_ms(ticket), Ok(None));
}
