//! The simulator against what queueing theory says, and against its own books.

mod support;

use std::cell::Cell;

use resilience::core::queue::Overflow;
use resilience::core::simulate::figures::Figures;
use resilience::core::simulate::record::End;
use resilience::core::simulate::scenario::{Arrivals, Caller, Phase, Retries, Scenario, Stall};
use resilience::core::simulate::service::{Service, Spread};
use resilience::core::simulate::world::{Stopped, play};
use support::simulator::{Run, scenario};

const MINUTE: f64 = 60_000.0;
const EXPONENTIAL: Service = Service { mean_ms: 50.0, spread: Spread::Erlang { shape: 1 } };
const CONSTANT: Service = Service { mean_ms: 50.0, spread: Spread::Constant };

/// No limit but the one that nobody reaches.
fn open(workers: usize, service: Service, arrivals: Arrivals, rate: f64, minutes: f64) -> Scenario {
    let mut scenario = scenario((workers, service), (arrivals, rate), 100_000, f64::INFINITY, minutes * MINUTE);
    scenario.limiter.algorithm = None;
    scenario.limiter.initial_limit = 100_000;
    scenario
}

fn whole(scenario: &Scenario) -> Figures {
    let window = 0.0..scenario.duration_ms;
    Run::new(scenario, 1, std::slice::from_ref(&window)).figures("whole run", &window)
}

fn near(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value} is not within {share} of {expected}");
}

#[test]
fn one_worker_makes_calls_wait_as_long_as_in_an_m_m_1_queue() {
    // Mean time in the system: service / (1 - utilisation).
    near(whole(&open(1, EXPONENTIAL, Arrivals::Poisson, 14.0, 600.0)).mean_latency, 50.0 / 0.3, 0.05);
    // With constant times half of the wait.
    near(whole(&open(1, CONSTANT, Arrivals::Poisson, 14.0, 600.0)).mean_latency, 50.0 + 50.0 * 0.7 / 0.6, 0.05);
}

#[test]
fn sharing_makes_the_mean_independent_of_the_spread() {
    for service in [EXPONENTIAL, CONSTANT] {
        let mut sharing = open(1, service, Arrivals::Poisson, 12.0, 600.0);
        sharing.dependency.sharing = true;
        near(whole(&sharing).mean_latency, 50.0 / 0.4, 0.05);
    }
}

#[test]
fn a_stall_holds_up_all_that_runs_and_work_goes_on_where_it_stood() {
    let mut stalling = open(10, CONSTANT, Arrivals::Even, 100.0, 1.0);
    stalling.dependency.stall = Some(Stall { every_ms: 1000.0, length_ms: 200.0 });
    let run = Run::new(&stalling, 1, &[]);
    let latest = run.record.calls.iter().filter(|call| call.end == End::Answered).map(|call| call.took_ms);
    let longest = latest.fold(0.0, f32::max);
    // One that came just before a stall has all of it before it; one that came in it may queue as well.
    assert!((250.0..=350.0).contains(&longest), "{longest}");
    assert!(run.record.calls.iter().filter(|call| call.took_ms > 51.0).count() > 1000);
    assert!(run.record.calls.iter().filter(|call| (call.took_ms - 50.0).abs() < 0.01).count() > 3000);
}

#[test]
fn users_of_a_closed_loop_call_once_in_a_service_and_a_thought() {
    let users = Arrivals::Closed { users: 20, think_ms: 150.0 };
    near(whole(&open(20, CONSTANT, users, 0.0, 10.0)).throughput, 20.0 / 0.2, 0.02);
}

#[test]
fn bursts_come_at_the_rate_but_together() {
    let run_of = |size| {
        let bursts = open(1000, CONSTANT, Arrivals::Bursts { size }, 100.0, 10.0);
        let run = Run::new(&bursts, 1, &[]);
        let mut moments: Vec<u64> = run.record.calls.iter().map(|call| call.came_ms().to_bits()).collect();
        moments.dedup();
        (run.record.calls.len(), moments.len())
    };
    let (calls, moments) = run_of(5);
    near(f64::from(u32::try_from(calls).expect("few")), 60_000.0, 0.05);
    assert!(moments * 4 < calls, "{moments} moments of {calls} calls");
}

#[test]
fn lost_calls_are_so_many_and_no_good_answers() {
    let mut lossy = open(100, CONSTANT, Arrivals::Poisson, 100.0, 10.0);
    lossy.dependency.loss = 0.2;
    let figures = whole(&lossy);
    near(figures.lost, 0.2, 0.05);
    near(figures.throughput, 80.0, 0.03);
}

#[test]
fn a_call_that_is_turned_away_comes_again_so_often_and_no_more() {
    let mut full = open(1, CONSTANT, Arrivals::Even, 1.0, 10.0);
    full.limiter.initial_limit = 1;
    full.dependency.workers = 0;
    full.callers[0].retries = Some(Retries { attempts: 3, delay_ms: 10.0, backoff: 2.0 });
    let run = Run::new(&full, 1, &[]);
    // The first call holds the permit for ever; all later ones are tried four times each.
    assert_eq!(run.record.calls.len(), 1 + 4 * 598 + 1);
}

#[test]
fn the_queue_lets_the_important_in_first() {
    let mut busy = open(10, EXPONENTIAL, Arrivals::Poisson, 60.0, 5.0);
    busy.limiter.initial_limit = 12;
    busy.limiter.queue_limit = 50;
    busy.limiter.queue_timeout_ms = 1000.0;
    busy.limiter.overflow = Overflow::DropLowestPriority;
    busy.callers.push(Caller { priority: 1.0, rate: 400.0, ..busy.callers[0].clone() });
    let figures = whole(&busy);
    let [high, low] = &figures.callers[..] else { panic!("two callers") };
    assert!(high.rejected < 0.001, "{}", high.rejected);
    assert!(low.rejected > 0.5, "{}", low.rejected);
    assert!(high.p99 < low.p99);
}

#[test]
fn each_call_ends_once_and_what_comes_is_what_ends() {
    let mut mixed = scenario((10, EXPONENTIAL), (Arrivals::Poisson, 400.0), 50, 120.0, 2.0 * MINUTE);
    mixed.limiter.queue_limit = 5;
    mixed.limiter.queue_timeout_ms = 30.0;
    mixed.dependency.loss = 0.05;
    mixed.phases = vec![Phase { at_ms: MINUTE, slowdown: Some(3.0), ..Phase::default() }];
    let run = Run::new(&mixed, 1, &[]);
    near(f64::from(u32::try_from(run.record.calls.len()).expect("few")), 48_000.0, 0.02);
    for end in [End::Answered, End::Refused, End::TimedOut, End::Lost] {
        assert!(run.record.calls.iter().any(|call| call.end == end), "{end:?}");
    }
    let open = run.record.calls.iter().filter(|call| call.end == End::Open).count();
    assert!(open <= 55, "{open} calls are in flight or wait at the end");
    assert!(run.record.calls.windows(2).all(|pair| pair[0].ended_ms <= pair[1].ended_ms));
}

#[test]
fn a_client_has_a_limiter_of_its_own() {
    let mut two = open(10, CONSTANT, Arrivals::Even, 1000.0, 1.0);
    two.limiter.initial_limit = 5;
    two.callers.push(Caller { client: 1, ..two.callers[0].clone() });
    let figures = whole(&two);
    near(figures.inflight, 10.0, 0.01);
    near(figures.limit, 10.0, 0.001);
    near(figures.fairness, 1.0, 0.001);
}

#[test]
fn it_tells_how_far_it_is_and_stops_when_told() {
    let long = open(10, CONSTANT, Arrivals::Poisson, 200.0, 60.0);
    let last = Cell::new(0.0);
    let watch = |progress: f64| {
        assert!(progress >= last.get());
        last.set(progress);
        progress < 0.5
    };
    assert_eq!(play(&long, 1, &[], &watch).err(), Some(Stopped::Cancelled));
    assert!((0.5..0.6).contains(&last.get()), "{}", last.get());
}
