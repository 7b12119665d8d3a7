//! A segment of several gates means exactly what its gates mean one by one, whoever watches its deadlines.
//!
//! Random programs run through one segment of all gates with the timer wheel, through another whose deadlines
//! the test watches, and through a chain of one-gate segments. After every step all three have shown the same
//! events in the same order, and every gate reads the same. Nothing is left out of the comparison or evened out.

#[path = "../support/alarms.rs"]
mod alarms;
mod chain;
mod fused;
mod program;
mod system;

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use resilience::core::clock::Nanos;
use resilience::core::effect::Refusal;
use resilience::core::gate::circuit_breaker::CircuitBreaker;
use resilience::core::outcome::Outcomes;
use resilience::core::timers::Driver;

use chain::Chain;
use fused::Fused;
use program::{Hand, Recipe, Step, recipes, steps};
use system::{Counts, Event, Execution, Question, Reading, System};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Running,
    /// Told to go, and still there.
    Closing,
}

/// The three systems and what their user knows.
struct Trial {
    recipes: Vec<Recipe>,
    systems: [Box<dyn System>; 3],
    open: BTreeMap<Execution, State>,
    begun: Execution,
    /// The execution that the present step enters.
    newcomer: Option<Execution>,
    now_ms: f64,
}

impl Trial {
    fn new(recipes: &[Recipe]) -> Self {
        Self {
            recipes: recipes.to_vec(),
            systems: [
                Box::new(Chain::new(recipes)),
                Box::new(Fused::new(recipes, Driver::Wheel)),
                Box::new(Fused::new(recipes, Driver::Outside)),
            ],
            open: BTreeMap::new(),
            begun: 0,
            newcomer: None,
            now_ms: 0.0,
        }
    }

    /// Does the same to all three, and compares. Gives the events and the answer.
    fn all<T: Debug + PartialEq>(
        &mut self,
        act: impl Fn(&mut dyn System) -> T,
    ) -> Result<(Vec<Event>, T), TestCaseError> {
        let before = self.systems[0].readings();
        let [answer, wheel, outside] = self.systems.each_mut().map(|system| act(system.as_mut()));
        prop_assert_eq!(&answer, &wheel);
        prop_assert_eq!(&answer, &outside);
        let [events, wheel, outside] = self.systems.each_mut().map(|system| system.events());
        prop_assert_eq!(&events, &wheel, "the chain is on the left, the segment on the right");
        prop_assert_eq!(&events, &outside, "the chain is on the left, the segment on the right");
        let [readings, wheel, outside] = self.systems.each_mut().map(|system| system.readings());
        prop_assert_eq!(&readings, &wheel, "the chain is on the left, the segment on the right");
        prop_assert_eq!(&readings, &outside, "the chain is on the left, the segment on the right");
        for event in &events {
            self.learn(*event)?;
        }
        for (before, after) in before.into_iter().zip(readings) {
            if let (Reading::Permits(before), Reading::Permits(after)) = (before, after) {
                check_counts(before, after)?;
            }
        }
        Ok((events, answer))
    }

    fn learn(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Running(execution) => {
                prop_assert_eq!(self.open.insert(execution, State::Running), Some(State::Queued));
            }
            // A newcomer of which no gate has to learn is out at once.
            Event::Rejected { execution, refusal: Refusal { gate, .. } }
                if self.newcomer == Some(execution) && !self.recipes[..gate].iter().any(Recipe::learns) =>
            {
                prop_assert_eq!(self.open.remove(&execution), Some(State::Queued));
            }
            Event::Rejected { execution, .. } => {
                prop_assert_eq!(self.open.insert(execution, State::Closing), Some(State::Queued));
            }
            Event::TimedOut { execution, .. } => {
                let before = self.open.insert(execution, State::Closing);
                prop_assert!(matches!(before, Some(State::Queued | State::Running)), "{:?}", before);
            }
            _ => {}
        }
        Ok(())
    }

    fn choose(&self, index: usize) -> Option<Execution> {
        self.open.keys().nth(index.checked_rem(self.open.len())?).copied()
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Enter(choice) => {
                let execution = self.begun;
                self.begun += 1;
                self.open.insert(execution, State::Queued);
                self.newcomer = Some(execution);
                let parameter = choice.map(|choice| self.recipes[0].parameter(choice));
                self.all(|system| system.enter(execution, parameter))?;
                self.newcomer = None;
            }
            Step::Exit(index, outcomes) => {
                let Some(execution) = self.choose(index) else { return Ok(()) };
                self.open.remove(&execution);
                let (events, moved) = self.all(|system| system.exit(execution, outcomes))?;
                prop_assert_eq!(moved, events.iter().any(moves_a_circuit));
            }
            Step::Mark(index) => {
                let Some(execution) = self.choose(index) else { return Ok(()) };
                if self.open[&execution] != State::Queued {
                    self.all(|system| system.mark(execution))?;
                }
            }
            Step::Advance(ms) => {
                self.now_ms += ms;
                let now = Nanos::from_ms(self.now_ms);
                self.all(|system| system.advance(now))?;
            }
            Step::Dispose => {
                self.all(|system| system.dispose())?;
                for system in &self.systems {
                    prop_assert!(!system.pending().1, "a deadline outlives its segment");
                }
                prop_assert!(self.open.values().all(|state| *state != State::Queued));
            }
            Step::ByHand(gate, hand) => {
                let now = Nanos::from_ms(self.now_ms);
                let gate = gate % self.systems[0].readings().len();
                self.all(|system| system.breaker(gate).map(|breaker| move_by_hand(breaker, hand, now)))?;
            }
        }
        Ok(())
    }
}

/// Whether an event tells of a circuit that an execution's end has moved.
const fn moves_a_circuit(event: &Event) -> bool {
    matches!(event, Event::CircuitClosed { .. } | Event::Asked { question: Question::Break { .. }, .. })
}

/// True if that changed something.
fn move_by_hand(breaker: &mut CircuitBreaker, hand: Hand, now: Nanos) -> bool {
    match hand {
        Hand::Isolate => breaker.isolate(),
        Hand::Close => breaker.close(),
        Hand::Restore(circuit, break_ms) => {
            breaker.restore(circuit, break_ms, now);
            true
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
        for system in &mut trial.systems {
            prop_assert_eq!(system.pending(), (0, false));
            for reading in system.readings() {
                let (in_flight, queued) = match reading {
                    Reading::Permits(Counts { in_flight, queued, .. }) => (in_flight, queued),
                    Reading::Rate { queued, .. } => (0, queued),
                    Reading::Circuit { .. } | Reading::Nothing => (0, 0),
                };
                prop_assert_eq!((in_flight, queued), (0, 0));
            }
        }
    }
}
