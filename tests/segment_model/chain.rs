//! Each gate a segment of its own, and a caller who goes from one to the next.
//!
//! The caller enters a gate when the one before has let the execution in. Once a gate ends an execution, it
//! leaves the queue it may be in and all deadlines at once. The limiters and the breakers that it holds learn how
//! it ended when its user exits; a newcomer that has passed nothing that learns leaves all at once.

use std::collections::HashMap;

use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Refusal};
use resilience::core::engine::Engine;
use resilience::core::gate::circuit_breaker::CircuitBreaker;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

use super::alarms::Alarms;
use super::program::Recipe;
use super::system::{Event, Execution, Question, Reading, System, answer, read};

/// What an execution has of a gate.
#[derive(Clone, Copy)]
enum Held {
    /// It is in.
    In(Key),
    /// It queues.
    Waiting(Key),
}

/// One-gate segments, outermost first, in one engine.
pub struct Chain {
    engine: Engine,
    segments: Vec<Key>,
    /// Whether each gate learns from how an execution ends.
    learns: Vec<bool>,
    alarms: Alarms,
    /// Each ticket's execution and gate.
    places: HashMap<Key, (Execution, usize)>,
    /// What each open execution has of which gate, outermost first.
    held: HashMap<Execution, Vec<(usize, Held)>>,
    /// What waits for its answer.
    questions: Vec<(usize, Question)>,
    events: Vec<Event>,
}

impl Chain {
    /// One segment a gate.
    pub fn new(recipes: &[Recipe]) -> Self {
        let mut engine = Engine::default();
        engine.at(Nanos::default(), Driver::Outside);
        let segments =
            recipes.iter().map(|recipe| engine.add_segment(vec![recipe.gate()]).expect("one gate")).collect();
        Self {
            engine,
            segments,
            learns: recipes.iter().map(Recipe::learns).collect(),
            alarms: Alarms::default(),
            places: HashMap::new(),
            held: HashMap::new(),
            questions: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Takes an execution through the gates from `first` on.
    fn proceed(&mut self, execution: Execution, first: usize, mut parameter: Option<f64>) {
        for gate in first..self.segments.len() {
            let entry = self.engine.enter(self.segments[gate], parameter.take()).expect("the segment is there");
            match entry {
                Entry::Running(ticket) => self.hold(execution, gate, ticket, Held::In(ticket)),
                Entry::Waiting(ticket) => self.hold(execution, gate, ticket, Held::Waiting(ticket)),
                Entry::Refused(refusal) => {
                    self.reject(execution, Refusal { gate, ..refusal });
                    if first == 0 && !self.learns[..gate].contains(&true) {
                        self.leave_all(execution);
                    }
                }
            }
            self.react();
            if !matches!(entry, Entry::Running(_)) {
                return;
            }
        }
        self.events.push(Event::Running(execution));
    }

    fn hold(&mut self, execution: Execution, gate: usize, ticket: Key, held: Held) {
        self.places.insert(ticket, (execution, gate));
        self.held.entry(execution).or_default().push((gate, held));
    }

    /// True if that moved a circuit.
    fn leave(&mut self, ticket: Key, outcome: Outcome) -> bool {
        let moved = self.engine.exit(ticket, Outcomes::all(outcome)).expect("an open ticket");
        self.react();
        self.places.remove(&ticket);
        moved
    }

    fn leave_all(&mut self, execution: Execution) {
        for (_, held) in self.held.remove(&execution).unwrap_or_default().into_iter().rev() {
            let (Held::In(ticket) | Held::Waiting(ticket)) = held;
            self.leave(ticket, Outcome::NoSample);
        }
    }

    fn reject(&mut self, execution: Execution, refusal: Refusal) {
        self.events.push(Event::Rejected { execution, refusal });
        self.close(execution);
    }

    /// Keeps nothing of an execution but what has to learn how it ended.
    fn close(&mut self, execution: Execution) {
        let Some(all) = self.held.remove(&execution) else { return };
        let (kept, left) = all.into_iter().partition(|(gate, held)| {
            let segment = self.segments[*gate];
            let learns =
                self.engine.permits(segment, 0).is_some() || self.engine.circuit_breaker(segment, 0).is_ok();
            learns && matches!(held, Held::In(_))
        });
        self.held.insert(execution, kept);
        for (_, held) in left {
            let (Held::In(ticket) | Held::Waiting(ticket)) = held;
            self.leave(ticket, Outcome::NoSample);
        }
    }

    fn react(&mut self) {
        for effect in std::mem::take(self.engine.effects()) {
            match effect {
                Effect::Admitted { ticket } => {
                    let (execution, gate) = self.places[&ticket];
                    let held = self.held.get_mut(&execution).and_then(|all| all.last_mut()).expect("a waiter");
                    *held = (gate, Held::In(ticket));
                    self.proceed(execution, gate + 1, None);
                }
                Effect::Rejected { ticket, refusal } => {
                    let (execution, gate) = self.places[&ticket];
                    self.reject(execution, Refusal { gate, ..refusal });
                }
                Effect::TimedOut { ticket, .. } => {
                    let (execution, gate) = self.places[&ticket];
                    self.close(execution);
                    self.events.push(Event::TimedOut { execution, gate });
                }
                Effect::LimitChanged { segment, old, new, sample, .. } => {
                    let gate = self.gate(segment);
                    self.events.push(Event::LimitChanged { gate, old, new, sample });
                }
                Effect::Sampled { segment, sample, cuts, .. } => {
                    self.ask(self.gate(segment), Question::Limit { sample, cuts });
                }
                Effect::CircuitOpened { ticket, opening, .. } => {
                    let (execution, gate) = self.places[&ticket];
                    self.ask(gate, Question::Break { execution, opening });
                }
                Effect::CircuitHalfOpened { ticket, .. } => {
                    let (execution, gate) = self.places[&ticket];
                    self.events.push(Event::CircuitHalfOpened { gate, execution });
                }
                Effect::CircuitClosed { ticket, .. } => {
                    let (execution, gate) = self.places[&ticket];
                    self.events.push(Event::CircuitClosed { gate, execution });
                }
                Effect::KeyEvicted { segment, .. } => {
                    let gate = self.gate(segment);
                    self.events.push(Event::KeyEvicted { gate });
                }
                Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
                Effect::Disarmed { timer } => self.alarms.disarm(timer),
                Effect::LimitDecided { .. } => {}
                Effect::Woken { sleep } => unreachable!("{sleep:?}: nobody sleeps"),
            }
        }
    }

    fn ask(&mut self, gate: usize, question: Question) {
        self.events.push(Event::Asked { gate, question });
        self.questions.push((gate, question));
    }

    fn gate(&self, segment: Key) -> usize {
        self.segments.iter().position(|own| *own == segment).expect("one of the chain's segments")
    }
}

impl System for Chain {
    fn enter(&mut self, execution: Execution, parameter: Option<f64>) {
        self.proceed(execution, 0, parameter);
    }

    fn exit(&mut self, execution: Execution, outcomes: Outcomes) -> bool {
        let all = self.held.remove(&execution).expect("an open execution");
        let mut moved = false;
        for (gate, held) in all.into_iter().rev() {
            let (Held::In(ticket) | Held::Waiting(ticket)) = held;
            moved |= self.leave(ticket, outcomes.of(gate));
        }
        for (gate, question) in std::mem::take(&mut self.questions) {
            answer(&mut self.engine, self.segments[gate], 0, question);
            self.react();
        }
        moved
    }

    fn mark(&mut self, execution: Execution) {
        for (_, held) in self.held[&execution].clone() {
            let (Held::In(ticket) | Held::Waiting(ticket)) = held;
            self.engine.mark(ticket).expect("an open ticket");
            self.react();
        }
    }

    fn advance(&mut self, now: Nanos) {
        self.engine.at(now, Driver::Outside);
        while let Some(timer) = self.alarms.pop(now) {
            self.engine.expire(timer);
            self.react();
        }
    }

    fn dispose(&mut self) {
        for segment in self.segments.clone() {
            self.engine.dispose(segment).expect("the segment is there");
            self.react();
        }
    }

    fn breaker(&mut self, gate: usize) -> Option<&mut CircuitBreaker> {
        self.engine.circuit_breaker(self.segments[gate], 0).ok()
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn readings(&mut self) -> Vec<Reading> {
        self.segments.iter().map(|segment| read(&mut self.engine, *segment, 0)).collect()
    }

    fn pending(&self) -> (usize, bool) {
        (self.engine.open(), self.engine.next_tick().is_some() || !self.alarms.is_empty())
    }
}
