use super::*;

const SETTINGS: Settings = Settings {
    failure_ratio: 0.5,
    slow_call_ratio: 1.0,
    slow_call_ms: f64::INFINITY,
    minimum_throughput: 4,
    consecutive_failures: 0,
    sampling_ms: 1000.0,
    break_ms: 500.0,
    half_open_probes: 1,
};

fn at(ms: f64) -> Nanos {
    Nanos::from_ms(ms)
}

/// The epoch of an execution that is let in.
fn pass(breaker: &mut CircuitBreaker, ms: f64) -> u64 {
    match breaker.enter(at(ms)) {
        Passage::Open { epoch, .. } => epoch,
        other => panic!("not let in: {other:?}"),
    }
}

fn end(breaker: &mut CircuitBreaker, epoch: u64, ms: f64, outcome: Outcome) -> Option<Change> {
    breaker.leave(epoch, (at(ms), at(ms), at(ms)), outcome)
}

/// A breaker that opened at 0 ms, and the epoch of one that was let in before.
fn opened(settings: Settings) -> (CircuitBreaker, u64) {
    let mut breaker = CircuitBreaker::new(Settings { consecutive_failures: 1, ..settings });
    let epoch = pass(&mut breaker, 0.0);
    assert!(matches!(end(&mut breaker, epoch, 0.0, Outcome::Drop), Some(Change::Opened(_))));
    (breaker, epoch)
}

#[test]
fn opens_at_the_failure_ratio_once_there_are_enough_calls() {
    let mut breaker = CircuitBreaker::new(SETTINGS);
    for outcome in [Outcome::Drop, Outcome::Success, Outcome::Unhandled] {
        let epoch = pass(&mut breaker, 0.0);
        assert_eq!(end(&mut breaker, epoch, 0.0, outcome), None);
    }
    let epoch = pass(&mut breaker, 0.0);
    let Some(Change::Opened(opening)) = end(&mut breaker, epoch, 0.0, Outcome::Drop) else { panic!("not opened") };
    assert!((opening.failure_rate - 0.5).abs() < f64::EPSILON);
    assert_eq!((opening.failures, opening.half_open_attempts), (2, 0));
    assert_eq!(breaker.circuit(at(499.0)), Circuit::Open);
    assert_eq!(breaker.circuit(at(500.0)), Circuit::HalfOpen);
    assert_eq!(breaker.enter(at(400.0)), Passage::Broken { retry_after_ms: 100.0 });
}

#[test]
fn a_cancelled_call_counts_as_nothing() {
    let mut breaker = CircuitBreaker::new(Settings { minimum_throughput: 1, ..SETTINGS });
    let epoch = pass(&mut breaker, 0.0);
    assert_eq!(end(&mut breaker, epoch, 0.0, Outcome::NoSample), None);
    assert!(matches!(end(&mut breaker, epoch, 0.0, Outcome::Drop), Some(Change::Opened(_))));
}

#[test]
fn opens_at_failures_in_a_row_which_a_success_ends() {
    let mut breaker = CircuitBreaker::new(Settings { consecutive_failures: 2, ..SETTINGS });
    let outcomes = [Outcome::Drop, Outcome::Success, Outcome::Drop, Outcome::Drop];
    let changes: Vec<_> = outcomes.map(|outcome| end(&mut breaker, 0, 0.0, outcome).is_some()).to_vec();
    assert_eq!(changes, [false, false, false, true]);
}

#[test]
fn opens_at_the_share_of_slow_calls() {
    let slow = Settings { slow_call_ms: 10.0, slow_call_ratio: 0.5, minimum_throughput: 2, ..SETTINGS };
    let mut breaker = CircuitBreaker::new(slow);
    assert_eq!(end(&mut breaker, 0, 0.0, Outcome::Success), None);
    let change = breaker.leave(0, (at(0.0), at(10.0), at(10.0)), Outcome::Success);
    assert!(matches!(change, Some(Change::Opened(_))));
}

#[test]
fn failures_that_end_together_open_it_once() {
    let (mut breaker, epoch) = opened(SETTINGS);
    assert_eq!(end(&mut breaker, epoch, 0.0, Outcome::Drop), None);
    let probe = pass(&mut breaker, 500.0);
    assert_eq!(end(&mut breaker, epoch, 500.0, Outcome::Success), None, "an execution of before");
    assert_eq!(end(&mut breaker, probe, 500.0, Outcome::Success), Some(Change::Closed));
}

#[test]
fn so_many_probes_run_and_all_of_them_have_to_succeed() {
    let (mut breaker, _) = opened(Settings { half_open_probes: 3, ..SETTINGS });
    let probes = [(); 3].map(|()| pass(&mut breaker, 500.0));
    assert_eq!(breaker.enter(at(600.0)), Passage::Broken { retry_after_ms: 400.0 });
    assert_eq!(end(&mut breaker, probes[0], 600.0, Outcome::Success), None);
    assert!(matches!(breaker.enter(at(600.0)), Passage::Broken { .. }));
    assert_eq!(end(&mut breaker, probes[1], 600.0, Outcome::Success), None);
    assert_eq!(end(&mut breaker, probes[2], 600.0, Outcome::Success), Some(Change::Closed));
}

#[test]
fn a_failed_probe_opens_it_again_however_few_the_calls() {
    let (mut breaker, _) = opened(SETTINGS);
    for attempt in 1..4 {
        let ms = f64::from(attempt) * 500.0;
        let probe = pass(&mut breaker, ms);
        let Some(Change::Opened(opening)) = end(&mut breaker, probe, ms, Outcome::Drop) else { panic!("closed") };
        assert_eq!(opening.half_open_attempts, attempt);
    }
}

#[test]
fn a_probe_that_says_nothing_gives_its_place_back() {
    for outcome in [Outcome::NoSample, Outcome::Unhandled] {
        let (mut breaker, _) = opened(SETTINGS);
        let probe = pass(&mut breaker, 500.0);
        assert_eq!(end(&mut breaker, probe, 500.0, outcome), None);
        assert_eq!(breaker.circuit(at(500.0)), Circuit::HalfOpen);
        pass(&mut breaker, 500.0);
    }
}

#[test]
fn probes_that_hang_make_room_after_a_break_and_still_decide() {
    let (mut breaker, _) = opened(SETTINGS);
    let hanging = pass(&mut breaker, 500.0);
    assert!(matches!(breaker.enter(at(999.0)), Passage::Broken { .. }));
    let second = pass(&mut breaker, 1000.0);
    assert_eq!(end(&mut breaker, hanging, 1000.0, Outcome::NoSample), None);
    assert!(matches!(breaker.enter(at(1000.0)), Passage::Broken { .. }), "no place of this round");
    assert_eq!(end(&mut breaker, hanging, 1001.0, Outcome::Success), Some(Change::Closed));
    assert_eq!(end(&mut breaker, second, 1001.0, Outcome::Drop), None, "one vote of before");
}

#[test]
fn a_break_of_another_length_counts_from_the_opening() {
    let (mut breaker, _) = opened(SETTINGS);
    breaker.set_break(7, 1.0);
    assert_eq!(breaker.circuit(at(499.0)), Circuit::Open);
    breaker.set_break(1, 2000.0);
    assert_eq!(breaker.circuit(at(1999.0)), Circuit::Open);
    assert_eq!(breaker.circuit(at(2000.0)), Circuit::HalfOpen);
}

#[test]
fn a_clock_that_went_back_locks_nobody_out_for_longer_than_a_break() {
    let mut breaker = CircuitBreaker::new(Settings { consecutive_failures: 1, ..SETTINGS });
    assert!(end(&mut breaker, 0, 3_600_000.0, Outcome::Drop).is_some());
    assert_eq!(breaker.enter(at(0.0)), Passage::Broken { retry_after_ms: 500.0 });
    pass(&mut breaker, 500.0);
}

#[test]
fn by_hand_it_is_isolated_and_closed() {
    let (mut breaker, _) = opened(SETTINGS);
    assert!(breaker.isolate() && !breaker.isolate());
    assert_eq!(breaker.enter(at(1e9)), Passage::Isolated);
    assert!(breaker.close() && !breaker.close());
    assert_eq!(breaker.circuit(at(0.0)), Circuit::Closed);
}

#[test]
fn a_restored_break_goes_on() {
    let mut breaker = CircuitBreaker::new(SETTINGS);
    breaker.restore(Circuit::Open, 200.0, at(1000.0));
    assert!((breaker.break_remaining_ms(at(1100.0)) - 100.0).abs() < 1e-6);
    pass(&mut breaker, 1200.0);
    assert!(matches!(breaker.enter(at(1200.0)), Passage::Broken { .. }), "one probe a round");
    breaker.restore(Circuit::HalfOpen, 200.0, at(1000.0));
    assert_eq!(breaker.circuit(at(1000.0)), Circuit::HalfOpen);
    breaker.restore(Circuit::Isolated, 0.0, at(1000.0));
    assert_eq!(breaker.circuit(at(1000.0)), Circuit::Isolated);
}
