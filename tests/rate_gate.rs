//! When the waiters of a rate limiter are let in, by the timers of the engine.

#[path = "support/alarms.rs"]
mod alarms;

use std::collections::VecDeque;

use alarms::Alarms;
use proptest::prelude::*;
use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Reason, Refusal};
use resilience::core::engine::Engine;
use resilience::core::gate::Gate;
use resilience::core::gate::deadline::Deadline;
use resilience::core::gate::rate_limiter::{RateLimiter, Rule};
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

const KEYS: usize = 3;

/// Of a limiter under test; times in whole milliseconds.
#[derive(Clone, Copy, Debug)]
struct Settings {
    rule: Rule,
    permits: u32,
    window: u32,
    queue_limit: usize,
}

impl Settings {
    fn gate(self) -> Gate {
        Gate::RateLimiter(RateLimiter::new(self.rule, self.permits, self.window.into(), KEYS, self.queue_limit))
    }

    /// Whether one more permit may be taken after those taken at `times`, by a scan of all of them.
    fn allows(self, times: &[u32], now: u32) -> bool {
        let (permits, window) = (self.permits, self.window);
        match self.rule {
            Rule::FixedWindow => {
                let (mut start, mut taken) = (0, 0);
                for time in times.iter().copied().chain([now]) {
                    if taken == 0 || time >= start + window {
                        (start, taken) = (time, 0);
                    }
                    taken += 1;
                }
                taken <= permits
            }
            Rule::SlidingWindow => times.iter().filter(|time| **time + window > now).count() < permits as usize,
            Rule::TokenBucket { burst } => {
                // The level is in shares of a permit: `window` of them are one.
                let (full, mut last) = (burst * window, 0);
                let mut level = full;
                for time in times {
                    level = full.min(level + (time - last) * permits) - window;
                    last = *time;
                }
                full.min(level + (now - last) * permits) >= window
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Someone wants a permit of this key.
    Enter(usize),
    /// One of those that are open goes, queued or not.
    Exit(usize),
    /// So many milliseconds pass, one by one.
    Pass(u32),
    /// As many pass at once, as when the thread was busy.
    Stall(u32),
    /// As many pass, and someone wants a permit of this key before any timer fires.
    Late(u32, usize),
}

/// What is known of one key.
#[derive(Default)]
struct Known {
    times: Vec<u32>,
    waiters: VecDeque<Key>,
}

impl Known {
    /// Takes those out of the queue for whom a permit is due.
    fn let_due_in(&mut self, settings: Settings, now: u32) -> Vec<Key> {
        let mut due = Vec::new();
        while !self.waiters.is_empty() && settings.allows(&self.times, now) {
            self.times.push(now);
            due.extend(self.waiters.pop_front());
        }
        due
    }
}

struct Trial {
    settings: Settings,
    engine: Engine,
    segment: Key,
    driver: Driver,
    alarms: Alarms,
    now: u32,
    keys: [Known; KEYS],
    open: Vec<Key>,
    admitted: Vec<Key>,
}

type Checked = Result<(), TestCaseError>;

impl Trial {
    fn new(settings: Settings, driver: Driver) -> Self {
        let mut engine = Engine::default();
        let segment = engine.add_segment(vec![settings.gate()]).expect("one gate");
        let mut trial = Self {
            settings,
            engine,
            segment,
            driver,
            alarms: Alarms::default(),
            now: 0,
            keys: std::array::from_fn(|_| Known::default()),
            open: Vec::new(),
            admitted: Vec::new(),
        };
        trial.engine.at(Nanos::default(), driver);
        trial
    }

    fn react(&mut self) {
        for effect in std::mem::take(self.engine.effects()) {
            match effect {
                Effect::Admitted { ticket } => self.admitted.push(ticket),
                Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
                Effect::Disarmed { timer } => self.alarms.disarm(timer),
                other => panic!("{other:?} of a rate limiter"),
            }
        }
    }

    fn enter(&mut self, key: usize) -> Checked {
        let due = self.keys[key].let_due_in(self.settings, self.now);
        let entry = self.engine.enter(self.segment, Some([0.0, 1.0, 2.0][key])).expect("the segment is there");
        self.react();
        let Known { times, waiters } = &mut self.keys[key];
        let allowed = self.settings.allows(times, self.now);
        match entry {
            Entry::Running(ticket) => {
                prop_assert!(waiters.is_empty() && allowed);
                times.push(self.now);
                self.open.push(ticket);
            }
            Entry::Waiting(ticket) => {
                prop_assert!(!allowed && waiters.len() < self.settings.queue_limit);
                waiters.push_back(ticket);
                self.open.push(ticket);
            }
            Entry::Refused(Refusal { reason, retry_after_ms, .. }) => {
                prop_assert!(!allowed && waiters.len() == self.settings.queue_limit);
                prop_assert_eq!(reason, Reason::Full);
                let due = (1..1000).find(|wait| self.settings.allows(times, self.now + wait));
                prop_assert_eq!(retry_after_ms.map(f64::ceil), due.map(f64::from));
            }
        }
        prop_assert_eq!(std::mem::take(&mut self.admitted), due, "nobody is let in before those who are due");
        Ok(())
    }

    fn exit(&mut self, choice: usize) -> Checked {
        if self.open.is_empty() {
            return Ok(());
        }
        let ticket = self.open.swap_remove(choice % self.open.len());
        self.engine.exit(ticket, Outcomes::all(Outcome::Success)).expect("an open ticket");
        self.react();
        for known in &mut self.keys {
            known.waiters.retain(|waiter| *waiter != ticket);
        }
        prop_assert_eq!(&self.admitted, &[], "permits do not come back");
        Ok(())
    }

    /// Looks at the clock `ms` later, and checks that those and only those are let in whose permit is due.
    fn pass(&mut self, ms: u32) -> Checked {
        self.now += ms;
        let now = Nanos::from_ms(self.now.into());
        self.engine.at(now, self.driver);
        self.engine.tick();
        self.react();
        while let Some(timer) = self.alarms.pop(now) {
            self.engine.expire(timer);
            self.react();
        }
        let admitted = std::mem::take(&mut self.admitted);
        let mut expected = 0;
        for known in &mut self.keys {
            let own: Vec<Key> = admitted.iter().copied().filter(|ticket| known.waiters.contains(ticket)).collect();
            let due = known.let_due_in(self.settings, self.now);
            expected += due.len();
            prop_assert_eq!(own, due);
        }
        prop_assert_eq!(admitted.len(), expected);
        Ok(())
    }

    fn step(&mut self, step: Step) -> Checked {
        match step {
            Step::Enter(key) => self.enter(key)?,
            Step::Exit(choice) => self.exit(choice)?,
            Step::Pass(ms) => (0..ms).try_for_each(|_| self.pass(1))?,
            Step::Stall(ms) => self.pass(ms)?,
            Step::Late(ms, key) => {
                self.now += ms;
                self.engine.at(Nanos::from_ms(self.now.into()), self.driver);
                self.enter(key)?;
            }
        }
        let waiting = self.keys.iter().map(|known| known.waiters.len());
        prop_assert_eq!(self.engine.queued(self.segment, 0), waiting.clone().sum::<usize>());
        let watched = self.engine.next_tick().is_some() || !self.alarms.is_empty();
        prop_assert_eq!(watched, waiting.sum::<usize>() > 0, "a timer exactly while someone waits");
        Ok(())
    }
}

prop_compose! {
    fn settings()(
        rule in prop_oneof![
            Just(Rule::FixedWindow),
            Just(Rule::SlidingWindow),
            (1..5_u32).prop_map(|burst| Rule::TokenBucket { burst }),
        ],
        permits in 1..6_u32,
        window in prop::sample::select(vec![1, 2, 7, 30, 100]),
        queue_limit in 0..5_usize,
    ) -> Settings {
        Settings { rule, permits, window, queue_limit }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..KEYS).prop_map(Step::Enter),
        8 => Just(Step::Enter(0)),
        4 => any::<usize>().prop_map(Step::Exit),
        3 => (1..12_u32).prop_map(Step::Pass),
        1 => (1..150_u32).prop_map(Step::Stall),
        2 => (1..40_u32, 0..KEYS).prop_map(|(ms, key)| Step::Late(ms, key)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_waiter_is_let_in_at_the_first_millisecond_at_which_its_permit_is_due(
        settings in settings(),
        driver in prop::sample::select(vec![Driver::Wheel, Driver::Outside]),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut trial = Trial::new(settings, driver);
        for step in steps {
            trial.step(step)?;
        }
        while !trial.open.is_empty() {
            trial.step(Step::Exit(0))?;
        }
        prop_assert_eq!(trial.engine.open(), 0);
    }
}

/// One permit in 10 ms, and nine places.
fn one_in_ten() -> Gate {
    Gate::RateLimiter(RateLimiter::new(Rule::FixedWindow, 1, 10.0, 1, 9))
}

#[test]
fn a_deadline_outside_ends_the_wait_and_the_next_waiter_is_watched() {
    let mut engine = Engine::default();
    let gates = vec![Gate::Deadline(Deadline { timeout_ms: 4.0 }), one_in_ten()];
    let segment = engine.add_segment(gates).expect("two gates");
    let Ok(Entry::Running(running)) = engine.enter(segment, None) else { panic!("a permit is free") };
    let Ok(Entry::Waiting(first)) = engine.enter(segment, None) else { panic!("it queues") };
    let Ok(Entry::Waiting(second)) = engine.enter(segment, Some(f64::INFINITY)) else { panic!("it queues") };
    engine.exit(running, Outcomes::default()).expect("an open ticket");
    engine.at(Nanos::from_ms(4.0), Driver::Wheel);
    engine.tick();
    assert_eq!(*engine.effects(), [Effect::TimedOut { ticket: first, gate: 0 }]);
    engine.effects().clear();
    engine.at(Nanos::from_ms(10.0), Driver::Wheel);
    engine.tick();
    assert_eq!(*engine.effects(), [Effect::Admitted { ticket: second }]);
    assert_eq!(engine.next_tick(), None);
}

/// Test tools may replace the timers and leave the clock alone.
#[test]
fn a_timer_that_fires_while_the_clock_stands_still_lets_one_waiter_in() {
    let mut engine = Engine::default();
    engine.at(Nanos::from_ms(5.0), Driver::Outside);
    let segment = engine.add_segment(vec![one_in_ten()]).expect("one gate");
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Running(_))));
    let waiters = [(); 3].map(|()| match engine.enter(segment, None) {
        Ok(Entry::Waiting(ticket)) => ticket,
        other => panic!("{other:?} instead of waiting"),
    });
    let mut armed = engine.effects().pop_front();
    for (turn, waiter) in waiters.into_iter().enumerate() {
        let Some(Effect::Armed { timer, delay_ms }) = armed else { panic!("{armed:?} instead of a timer") };
        assert!(delay_ms > 0.0 && delay_ms <= 10.0, "{delay_ms}");
        engine.expire(timer);
        let mut effects = std::mem::take(engine.effects());
        assert_eq!(effects.pop_front(), Some(Effect::Admitted { ticket: waiter }));
        assert_eq!(effects.len(), usize::from(turn < 2));
        armed = effects.pop_front();
    }
    assert_eq!(engine.queued(segment, 0), 0);
}

#[test]
fn dispose_turns_the_waiters_of_every_key_away_and_leaves_no_timer() {
    let mut engine = Engine::default();
    let gate = Gate::RateLimiter(RateLimiter::new(Rule::TokenBucket { burst: 1 }, 1, 10.0, 9, 9));
    let segment = engine.add_segment(vec![gate]).expect("one gate");
    let mut waiters = Vec::new();
    for key in [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 2.0] {
        match engine.enter(segment, Some(key)) {
            Ok(Entry::Waiting(ticket)) => waiters.push(ticket),
            entry => assert!(matches!(entry, Ok(Entry::Running(_)))),
        }
    }
    engine.dispose(segment).expect("the segment is there");
    let effects = std::mem::take(engine.effects());
    let rejected = |ticket: &Key| {
        let named = |effect: &&Effect| {
            matches!(effect, Effect::Rejected { ticket: own, refusal }
            if own == ticket && refusal.reason == Reason::Disposed && refusal.retry_after_ms.is_none())
        };
        effects.iter().filter(named).count()
    };
    assert_eq!((effects.len(), waiters.len()), (4, 4));
    assert!(waiters.iter().all(|ticket| rejected(ticket) == 1));
    assert_eq!((engine.queued(segment, 0), engine.next_tick()), (0, None));
}

#[test]
fn an_execution_that_needs_no_permit_passes_and_takes_none() {
    let mut engine = Engine::default();
    let segment = engine.add_segment(vec![one_in_ten()]).expect("one gate");
    for _ in 0..3 {
        let Ok(Entry::Running(ticket)) = engine.enter(segment, Some(-1.0)) else { panic!("it passes") };
        engine.exit(ticket, Outcomes::default()).expect("an open ticket");
    }
    assert_eq!(engine.rate_limiter(segment, 0).map(RateLimiter::keys), Ok(0));
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Running(_))));
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Waiting(_))));
    // Also past those who wait.
    assert!(matches!(engine.enter(segment, Some(-1.0)), Ok(Entry::Running(_))));
    assert_eq!(engine.queued(segment, 0), 1);
    assert_eq!(engine.rate_limiter(segment, 0).map(RateLimiter::keys), Ok(1));
}

#[test]
fn the_first_key_that_is_forgotten_while_it_mattered_is_told_and_no_other() {
    let mut engine = Engine::default();
    let gate = Gate::RateLimiter(RateLimiter::new(Rule::SlidingWindow, 1, 10.0, 2, 0));
    let segment = engine.add_segment(vec![gate]).expect("one gate");
    for (key, told) in [(0.0, false), (1.0, false), (2.0, true), (3.0, false), (3.0, false)] {
        engine.enter(segment, Some(key)).expect("the segment is there");
        let expected = if told { vec![Effect::KeyEvicted { segment, gate: 0 }] } else { vec![] };
        assert_eq!(std::mem::take(engine.effects()), expected);
    }
    assert_eq!(engine.rate_limiter(segment, 0).map(RateLimiter::evictions), Ok(2));
}

#[test]
fn a_newcomer_is_not_refused_for_waiters_whose_permits_are_due_before_their_timer() {
    let mut engine = Engine::default();
    let gate = Gate::RateLimiter(RateLimiter::new(Rule::FixedWindow, 2, 10.25, 1, 1));
    let segment = engine.add_segment(vec![gate]).expect("one gate");
    let Ok(Entry::Running(_)) = engine.enter(segment, None) else { panic!("a permit is free") };
    let Ok(Entry::Running(_)) = engine.enter(segment, None) else { panic!("a permit is free") };
    let Ok(Entry::Waiting(waiter)) = engine.enter(segment, None) else { panic!("it queues") };
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Refused(_))));
    engine.at(Nanos::from_ms(10.5), Driver::Wheel);
    engine.tick();
    assert_eq!(*engine.effects(), []);
    assert!(matches!(engine.enter(segment, None), Ok(Entry::Running(_))));
    assert_eq!(*engine.effects(), [Effect::Admitted { ticket: waiter }]);
    assert_eq!(engine.next_tick(), None);
}
