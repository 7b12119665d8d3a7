//! Circuit breakers inside segments: cases in which others have failed.

use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Reason, Refusal};
use resilience::core::engine::Engine;
use resilience::core::gate::Gate;
use resilience::core::gate::circuit_breaker::{Circuit, CircuitBreaker, Opening, Settings};
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::queue::Overflow;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

const SETTINGS: Settings = Settings {
    failure_ratio: 0.5,
    slow_call_ratio: 1.0,
    slow_call_ms: f64::INFINITY,
    minimum_throughput: 5,
    consecutive_failures: 0,
    sampling_ms: 10_000.0,
    break_ms: 500.0,
    half_open_probes: 1,
};

const fn breaker(settings: Settings) -> Gate {
    Gate::CircuitBreaker(CircuitBreaker::new(settings))
}

fn fixed(limit: u32, queue: usize) -> Gate {
    Gate::Concurrency(Concurrency::new(limit, queue, f64::INFINITY, Overflow::RejectNew))
}

const fn deadline(timeout_ms: f64) -> Gate {
    Gate::Deadline(Deadline { timeout_ms })
}

struct Bench {
    engine: Engine,
    segment: Key,
    /// The breaker's place.
    gate: usize,
}

impl Bench {
    fn new(gates: Vec<Gate>) -> Self {
        let gate = gates.iter().position(|gate| matches!(gate, Gate::CircuitBreaker(_))).expect("a breaker");
        let mut engine = Engine::default();
        let segment = engine.add_segment(gates).expect("a segment of few gates");
        Self { engine, segment, gate }
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

    fn enter(&mut self) -> Entry {
        self.engine.enter(self.segment, None).expect("the segment is there")
    }

    fn run(&mut self) -> Key {
        match self.enter() {
            Entry::Running(ticket) => ticket,
            other => panic!("{other:?} instead of passing every gate"),
        }
    }

    fn wait(&mut self) -> Key {
        match self.enter() {
            Entry::Waiting(ticket) => ticket,
            other => panic!("{other:?} instead of waiting"),
        }
    }

    fn exit(&mut self, ticket: Key, outcome: Outcome) -> Vec<Effect> {
        let moved = self.engine.exit(ticket, Outcomes::all(outcome)).expect("an open ticket");
        let effects = self.effects();
        let of_a_circuit =
            |effect: &Effect| matches!(effect, Effect::CircuitOpened { .. } | Effect::CircuitClosed { .. });
        assert_eq!(moved, effects.iter().any(of_a_circuit));
        effects
    }

    /// Fails so often that the circuit opens now.
    fn open(&mut self) {
        for _ in 0..5 {
            let ticket = self.run();
            self.exit(ticket, Outcome::Drop);
        }
        assert_eq!(self.circuit(), Circuit::Open);
    }

    fn circuit(&mut self) -> Circuit {
        let now = self.engine.now();
        self.engine.circuit_breaker(self.segment, self.gate).expect("a breaker").circuit(now)
    }

    const fn half_opened(&self, ticket: Key) -> Effect {
        Effect::CircuitHalfOpened { segment: self.segment, gate: self.gate, ticket }
    }

    const fn opened(&self, ticket: Key, epoch: u64, failures: u32, half_open_attempts: u32) -> Effect {
        let opening = Opening { epoch, break_ms: 500.0, failure_rate: 1.0, failures, half_open_attempts };
        Effect::CircuitOpened { segment: self.segment, gate: self.gate, ticket, opening }
    }

    const fn closed(&self, ticket: Key) -> Effect {
        Effect::CircuitClosed { segment: self.segment, gate: self.gate, ticket }
    }

    const fn broken(&self, retry_after_ms: f64) -> Refusal {
        let retry_after_ms = Some(retry_after_ms);
        Refusal { gate: self.gate, reason: Reason::Broken, active: 0, queued: 0, retry_after_ms }
    }
}

#[test]
fn the_next_call_may_probe_after_one_that_is_cancelled_or_fails_unwatched() {
    let mut bench = Bench::new(vec![breaker(SETTINGS)]);
    bench.open();
    bench.at(500.0);
    let first = bench.run();
    assert_eq!(bench.effects(), [bench.half_opened(first)]);
    let mut probe = first;
    for outcome in [Outcome::NoSample, Outcome::Unhandled, Outcome::NoSample] {
        assert_eq!(bench.enter(), Entry::Refused(bench.broken(500.0)));
        assert_eq!(bench.exit(probe, outcome), []);
        probe = bench.run();
        assert_eq!(bench.effects(), [], "it half-opens once");
    }
    assert_eq!(bench.exit(probe, Outcome::Success), [bench.closed(probe)]);
}

#[test]
fn of_a_hundred_at_the_instant_of_half_open_so_many_run_as_there_are_probes() {
    for half_open_probes in [1, 3, 10] {
        let mut bench = Bench::new(vec![breaker(Settings { half_open_probes, ..SETTINGS })]);
        bench.open();
        bench.at(499.0);
        assert_eq!(bench.enter(), Entry::Refused(bench.broken(1.0)));
        bench.at(500.0);
        let entries: Vec<_> = (0..100).map(|_| bench.enter()).collect();
        let (probes, others) = entries.split_at(half_open_probes as usize);
        assert!(others.iter().all(|entry| *entry == Entry::Refused(bench.broken(500.0))));
        let probes: Vec<_> = probes
            .iter()
            .map(|entry| match entry {
                Entry::Running(ticket) => *ticket,
                other => panic!("{other:?} instead of a probe"),
            })
            .collect();
        assert_eq!(bench.effects(), [bench.half_opened(probes[0])]);
        let effects: Vec<_> = probes.iter().flat_map(|probe| bench.exit(*probe, Outcome::Success)).collect();
        assert_eq!(effects, [bench.closed(probes[probes.len() - 1])]);
    }
}

#[test]
fn six_failures_of_one_tick_at_a_threshold_of_five_open_it_once() {
    for consecutive_failures in [0, 5] {
        let mut bench = Bench::new(vec![breaker(Settings { consecutive_failures, ..SETTINGS })]);
        let tickets = [(); 6].map(|()| bench.run());
        let effects: Vec<_> = tickets.iter().flat_map(|ticket| bench.exit(*ticket, Outcome::Drop)).collect();
        assert_eq!(effects, [bench.opened(tickets[4], 1, 5, 0)]);
        bench.at(500.0);
        assert_eq!(bench.circuit(), Circuit::HalfOpen);
        let probe = bench.run();
        assert_eq!(bench.effects(), [bench.half_opened(probe)]);
    }
}

#[test]
fn a_probe_that_fails_under_the_minimum_throughput_opens_it_again() {
    let mut bench = Bench::new(vec![breaker(SETTINGS)]);
    bench.open();
    for attempt in 1..4_u32 {
        bench.at(f64::from(attempt) * 500.0);
        let probe = bench.run();
        bench.effects();
        let epoch = 1 + 2 * u64::from(attempt);
        assert_eq!(bench.exit(probe, Outcome::Drop), [bench.opened(probe, epoch, 1, attempt)]);
        assert_eq!(bench.enter(), Entry::Refused(bench.broken(500.0)));
    }
}

#[test]
fn after_the_break_it_reads_half_open_without_a_call_and_without_a_timer() {
    let mut bench = Bench::new(vec![breaker(SETTINGS)]);
    bench.open();
    assert_eq!(bench.engine.next_tick(), None);
    bench.at(499.0);
    assert_eq!(bench.circuit(), Circuit::Open);
    for ms in [500.0, 1e6, 1e12] {
        assert_eq!(bench.at(ms), []);
        assert_eq!(bench.circuit(), Circuit::HalfOpen);
    }
}

#[test]
fn a_waiter_outside_an_open_circuit_is_turned_away_when_its_turn_comes() {
    let mut bench = Bench::new(vec![fixed(1, 9), breaker(Settings { consecutive_failures: 1, ..SETTINGS })]);
    let running = bench.run();
    let waiters = [(); 2].map(|()| bench.wait());
    let refusal = bench.broken(500.0);
    let turned_away = |ticket| Effect::Rejected { ticket, refusal };
    assert_eq!(bench.exit(running, Outcome::Drop), [bench.opened(running, 1, 1, 0), turned_away(waiters[0])]);
    assert_eq!(bench.exit(waiters[0], Outcome::Drop), [turned_away(waiters[1])], "it never passed the breaker");
    assert_eq!(bench.exit(waiters[1], Outcome::Drop), []);
    assert_eq!(bench.engine.permits(bench.segment, 0).map(Concurrency::in_flight), Some(0));
}

#[test]
fn a_probe_that_is_aborted_in_a_queue_further_in_gives_its_place_back() {
    let mut bench = Bench::new(vec![breaker(Settings { half_open_probes: 2, ..SETTINGS }), fixed(1, 1)]);
    bench.open();
    bench.at(500.0);
    let probe = bench.run();
    let queued = bench.wait();
    assert_eq!(bench.effects(), [bench.half_opened(probe)]);
    assert_eq!(bench.enter(), Entry::Refused(bench.broken(500.0)));
    assert_eq!(bench.exit(queued, Outcome::NoSample), [], "aborted in the queue");
    let queued = bench.wait();
    assert_eq!(bench.exit(probe, Outcome::Success), [Effect::Admitted { ticket: queued }]);
    assert_eq!(bench.exit(queued, Outcome::Success), [bench.closed(queued)]);
}

#[test]
fn a_probe_that_hangs_until_its_deadline_opens_it_again() {
    let mut bench = Bench::new(vec![breaker(SETTINGS), deadline(200.0)]);
    bench.open();
    bench.at(500.0);
    let probe = bench.run();
    assert_eq!(bench.at(700.0), [bench.half_opened(probe), Effect::TimedOut { ticket: probe, gate: 1 }]);
    assert_eq!(bench.exit(probe, Outcome::Drop), [bench.opened(probe, 3, 1, 1)]);
    assert_eq!(bench.enter(), Entry::Refused(bench.broken(500.0)));
}

#[test]
fn a_call_is_as_slow_as_the_first_byte_of_its_answer() {
    let slow = Settings { slow_call_ms: 100.0, minimum_throughput: 1, ..SETTINGS };
    let mut bench = Bench::new(vec![breaker(slow)]);
    let [stream, late] = [(); 2].map(|()| bench.run());
    bench.at(99.0);
    bench.engine.mark(stream).expect("an open ticket");
    bench.at(100.0);
    assert_eq!(bench.exit(stream, Outcome::Success), []);
    // Only one of two calls was slow; when the next one ends those two are forgotten.
    assert_eq!(bench.exit(late, Outcome::Success), []);
    let late = bench.run();
    bench.at(11_000.0);
    assert!(matches!(bench.exit(late, Outcome::Success)[..], [Effect::CircuitOpened { .. }]));
}

#[test]
fn by_hand_nothing_passes_until_it_is_closed() {
    let mut bench = Bench::new(vec![breaker(SETTINGS)]);
    let before = bench.run();
    let isolate = |bench: &mut Bench| bench.engine.circuit_breaker(bench.segment, 0).expect("a breaker").isolate();
    assert!(isolate(&mut bench) && !isolate(&mut bench));
    let refusal = Refusal { gate: 0, reason: Reason::Isolated, active: 0, queued: 0, retry_after_ms: None };
    bench.at(1e9);
    assert_eq!(bench.enter(), Entry::Refused(refusal));
    bench.engine.circuit_breaker(bench.segment, 0).expect("a breaker").close();
    assert_eq!(bench.exit(before, Outcome::Drop), []);
    bench.open();
}
