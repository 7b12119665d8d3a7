//! Sleeps: delays that belong to no execution.

#[path = "support/alarms.rs"]
mod alarms;

use alarms::Alarms;
use resilience::core::clock::Nanos;
use resilience::core::effect::Effect;
use resilience::core::engine::Engine;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

/// An engine and, for the outside driver, timers of ours.
struct Bench {
    engine: Engine,
    driver: Driver,
    alarms: Alarms,
    woken: Vec<Key>,
}

impl Bench {
    fn new(driver: Driver) -> Self {
        let mut engine = Engine::default();
        engine.at(Nanos::default(), driver);
        Self { engine, driver, alarms: Alarms::default(), woken: Vec::new() }
    }

    fn react(&mut self) {
        for effect in std::mem::take(self.engine.effects()) {
            match effect {
                Effect::Woken { sleep } => self.woken.push(sleep),
                Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
                Effect::Disarmed { timer } => self.alarms.disarm(timer),
                other => panic!("{other:?} of a sleep"),
            }
        }
    }

    /// Goes to this millisecond, and gives back who woke.
    fn at(&mut self, ms: f64) -> Vec<Key> {
        let now = Nanos::from_ms(ms);
        self.engine.at(now, self.driver);
        self.engine.tick();
        self.react();
        while let Some(timer) = self.alarms.pop(now) {
            self.engine.expire(timer);
            self.react();
        }
        std::mem::take(&mut self.woken)
    }

    fn sleep(&mut self, delay_ms: f64) -> Key {
        let sleep = self.engine.sleep(delay_ms);
        self.react();
        sleep
    }

    fn wake(&mut self, sleep: Key) {
        self.engine.wake(sleep);
        self.react();
    }

    fn armed(&self) -> bool {
        self.engine.next_tick().is_some() || !self.alarms.is_empty()
    }
}

fn with_each_driver(test: impl Fn(Bench)) {
    for driver in [Driver::Wheel, Driver::Outside] {
        test(Bench::new(driver));
    }
}

#[test]
fn each_wakes_once_at_its_time_rounded_up_to_a_millisecond() {
    with_each_driver(|mut bench| {
        let late = bench.sleep(20.0);
        let early = bench.sleep(9.5);
        assert_eq!(bench.at(9.5), []);
        assert_eq!(bench.at(10.0), [early]);
        assert_eq!(bench.at(19.9), []);
        assert_eq!(bench.at(20.0), [late]);
        assert_eq!(bench.at(1e6), []);
        assert!(!bench.armed());
        assert_eq!(bench.engine.sleeping(), 0);
    });
}

#[test]
fn those_of_one_time_wake_in_the_order_they_began() {
    with_each_driver(|mut bench| {
        let sleeps = [(); 50].map(|()| bench.sleep(40_000.0));
        assert_eq!(bench.at(40_000.0), sleeps);
    });
}

#[test]
fn no_time_at_all_ends_at_the_next_look_at_the_clock_and_not_before() {
    with_each_driver(|mut bench| {
        let sleep = bench.sleep(0.0);
        assert_eq!(bench.woken, []);
        assert_eq!(bench.at(0.0), [sleep]);
    });
}

#[test]
fn one_that_was_ended_before_its_time_does_not_wake_and_leaves_no_timer() {
    with_each_driver(|mut bench| {
        let (first, second) = (bench.sleep(10.0), bench.sleep(10.0));
        bench.wake(first);
        bench.wake(first);
        assert_eq!(bench.at(10.0), [second]);
        let third = bench.sleep(10.0);
        bench.wake(first);
        bench.wake(second);
        assert!(bench.armed(), "an old name ends no sleep of a later time");
        bench.wake(third);
        assert!(!bench.armed());
        assert_eq!(bench.engine.sleeping(), 0);
        assert_eq!(bench.at(1e6), []);
    });
}

#[test]
fn one_without_an_end_is_watched_by_no_timer() {
    with_each_driver(|mut bench| {
        let sleep = bench.sleep(f64::INFINITY);
        assert!(!bench.armed());
        assert_eq!(bench.at(1e15), []);
        assert_eq!(bench.engine.sleeping(), 1);
        bench.wake(sleep);
        assert_eq!((bench.woken, bench.engine.sleeping()), (vec![], 0));
    });
}

#[test]
fn sleeps_of_both_drivers_live_side_by_side() {
    let mut bench = Bench::new(Driver::Wheel);
    let in_the_wheel = bench.sleep(30.0);
    bench.driver = Driver::Outside;
    assert_eq!(bench.at(5.0), []);
    let outside = bench.sleep(10.0);
    bench.driver = Driver::Wheel;
    assert_eq!(bench.at(15.0), [outside]);
    let ended = bench.sleep(1.0);
    bench.driver = Driver::Outside;
    assert_eq!(bench.at(15.5), []);
    bench.wake(ended);
    assert_eq!(bench.at(30.0), [in_the_wheel]);
    assert!(!bench.armed());
}
