//! A segment of several gates means exactly what its gates mean one by one, whoever watches its deadlines.
//!
//! Random programs run through one segment of all gates with the timer wheel, through another whose deadlines
//! the test watches, and through a chain of one-gate segments. After every step all three have shown the same
//! events in the same order, and the same counts.

#[path = "../support/alarms.rs"]
mod alarms;
mod chain;
mod fused;
mod program;
mod system;

use std::collections::BTreeMap;

use proptest::prelude::*;
use resilience::core::clock::Nanos;
use resilience::core::effect::Reason;
use resilience::core::outcome::Outcomes;
use resilience::core::timers::Driver;

use chain::Chain;
use fused::Fused;
use program::{Recipe, Step, recipes, steps};
use system::{Counts, Event, Execution, System};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Running,
    /// Told to go, and still there.
    Closing,
}

/// The three systems and what their user knows.
struct Trial {
    systems: [Box<dyn System>; 3],
    open: BTreeMap<Execution, State>,
    begun: Execution,
    now_ms: f64,
}

impl Trial {
    fn new(recipes: &[Recipe]) -> Self {
        Self {
            systems: [
                Box::new(Chain::new(recipes)),
                Box::new(Fused::new(recipes, Driver::Wheel)),
                Box::new(Fused::new(recipes, Driver::Outside)),
            ],
            open: BTreeMap::new(),
            begun: 0,
            now_ms: 0.0,
        }
    }

    /// Does the same to all three, and compares.
    fn all(&mut self, act: impl Fn(&mut dyn System)) -> Result<(), TestCaseError> {
        let before = self.systems[0].counts();
        for system in &mut self.systems {
            act(system.as_mut());
        }
        let [events, wheel, outside] = self.systems.each_mut().map(|system| system.events());
        prop_assert_eq!(&events, &wheel, "the chain is on the left, the segment on the right");
        prop_assert_eq!(&events, &outside, "the chain is on the left, the segment on the right");
        let [counts, wheel, outside] = self.systems.each_ref().map(|system| system.counts());
        prop_assert_eq!(&counts, &wheel);
        prop_assert_eq!(&counts, &outside);
        for event in events {
            self.learn(event)?;
        }
        for (before, after) in before.into_iter().flatten().zip(counts.into_iter().flatten()) {
            check_counts(before, after)?;
        }
        Ok(())
    }

    fn learn(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Running(execution) => {
                prop_assert_eq!(self.open.insert(execution, State::Running), Some(State::Queued));
            }
            Event::Rejected { execution, gate: 0, reason: Reason::Full, .. } => {
                prop_assert_eq!(self.open.remove(&execution), Some(State::Queued));
            }
            Event::Rejected { execution, .. } => {
                prop_assert_eq!(self.open.insert(execution, State::Closing), Some(State::Queued));
            }
            Event::TimedOut { execution, .. } => {
                let before = self.open.insert(execution, State::Closing);
                prop_assert!(matches!(before, Some(State::Queued | State::Running)), "{:?}", before);
            }
            Event::LimitChanged { .. } | Event::Sampled { .. } => {}
        }
        Ok(())
    }

    fn choose(&self, index: usize) -> Option<Execution> {
        self.open.keys().nth(index.checked_rem(self.open.len())?).copied()
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Enter(parameter) => {
                let execution = self.begun;
                self.begun += 1;
                self.open.insert(execution, State::Queued);
                self.all(|system| system.enter(execution, parameter))
            }
            Step::Exit(index, outcomes) => {
                let Some(execution) = self.choose(index) else { return Ok(()) };
                self.open.remove(&execution);
                self.all(|system| system.exit(execution, outcomes))
            }
            Step::Mark(index) => match self.choose(index) {
                Some(execution) if self.open[&execution] != State::Queued => {
                    self.all(|system| system.mark(execution))
                }
                _ => Ok(()),
            },
            Step::Advance(ms) => {
                self.now_ms += ms;
                let now = Nanos::from_ms(self.now_ms);
                self.all(|system| system.advance(now))
            }
            Step::Dispose => {
                self.all(|system| system.dispose())?;
                for system in &self.systems {
                    prop_assert!(!system.pending().1, "a deadline outlives its segment");
                }
                prop_assert!(self.open.values().all(|state| *state != State::Queued));
                Ok(())
            }
        }
    }
}

/// In flight may exceed the limit only after the limit has fallen. An algorithm outside the core answers after
/// the exit that it was asked in, which may have filled the gate to the old limit.
fn check_counts(before: Counts, after: Counts) -> Result<(), TestCaseError> {
    let Counts { limit, in_flight, queued } = after;
    prop_assert!(in_flight <= limit.max(before.limit).max(before.in_flight), "{:?} then {:?}", before, after);
    prop_assert!(queued == 0 || in_flight >= limit, "waiters beside a free permit: {:?}", after);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_segment_means_what_its_gates_mean_one_by_one(recipes in recipes(), steps in steps()) {
        let mut trial = Trial::new(&recipes);
        for step in steps {
            trial.step(step)?;
        }
        while !trial.open.is_empty() {
            trial.step(Step::Exit(0, Outcomes::default()))?;
        }
        for system in &trial.systems {
            prop_assert_eq!(system.pending(), (0, false));
            for Counts { in_flight, queued, .. } in system.counts().into_iter().flatten() {
                prop_assert_eq!((in_flight, queued), (0, 0));
            }
        }
    }
}
