//! All gates in one segment.

use std::collections::HashMap;

use resilience::core::clock::Nanos;
use resilience::core::effect::Effect;
use resilience::core::engine::Engine;
use resilience::core::gate::circuit_breaker::CircuitBreaker;
use resilience::core::outcome::Outcomes;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

use super::alarms::Alarms;
use super::program::Recipe;
use super::system::{Event, Execution, Question, Reading, System, answer, read};

/// A segment as the product uses it.
pub struct Fused {
    engine: Engine,
    segment: Key,
    gates: usize,
    driver: Driver,
    alarms: Alarms,
    executions: HashMap<Key, Execution>,
    tickets: HashMap<Execution, Key>,
    events: Vec<Event>,
}

impl Fused {
    /// A segment whose deadlines `driver` watches.
    pub fn new(recipes: &[Recipe], driver: Driver) -> Self {
        let mut engine = Engine::default();
        let segment = engine.add_segment(recipes.iter().map(Recipe::gate).collect()).expect("one to six gates");
        engine.at(Nanos::default(), driver);
        Self {
            engine,
            segment,
            gates: recipes.len(),
            driver,
            alarms: Alarms::default(),
            executions: HashMap::new(),
            tickets: HashMap::new(),
            events: Vec::new(),
        }
    }

    fn open(&mut self, ticket: Key, execution: Execution) {
        self.tickets.insert(execution, ticket);
        self.executions.insert(ticket, execution);
    }

    /// Takes the effects, then answers the questions among them.
    fn react(&mut self) {
        let mut questions = Vec::new();
        for effect in std::mem::take(self.engine.effects()) {
            let event = match effect {
                Effect::Admitted { ticket } => Event::Running(self.executions[&ticket]),
                Effect::Rejected { ticket, refusal } => {
                    Event::Rejected { execution: self.executions[&ticket], refusal }
                }
                Effect::TimedOut { ticket, gate } => Event::TimedOut { execution: self.executions[&ticket], gate },
                Effect::LimitChanged { gate, old, new, sample, .. } => {
                    Event::LimitChanged { gate, old, new, sample }
                }
                Effect::Sampled { gate, sample, cuts, .. } => {
                    Event::Asked { gate, question: Question::Limit { sample, cuts } }
                }
                Effect::CircuitOpened { gate, ticket, opening, .. } => {
                    let execution = self.executions[&ticket];
                    Event::Asked { gate, question: Question::Break { execution, opening } }
                }
                Effect::CircuitHalfOpened { gate, ticket, .. } => {
                    Event::CircuitHalfOpened { gate, execution: self.executions[&ticket] }
                }
                Effect::CircuitClosed { gate, ticket, .. } => {
                    Event::CircuitClosed { gate, execution: self.executions[&ticket] }
                }
                Effect::KeyEvicted { gate, .. } => Event::KeyEvicted { gate },
                Effect::Armed { timer, delay_ms } => {
                    self.alarms.arm(timer, self.engine.now(), delay_ms);
                    continue;
                }
                Effect::Disarmed { timer } => {
                    self.alarms.disarm(timer);
                    continue;
                }
                Effect::LimitDecided { .. } => continue,
                Effect::Woken { sleep } => unreachable!("{sleep:?}: nobody sleeps"),
            };
            self.events.push(event);
            if let Event::Asked { gate, question } = event {
                questions.push((gate, question));
            }
        }
        for (gate, question) in questions {
            answer(&mut self.engine, self.segment, gate, question);
            self.react();
        }
    }
}

impl System for Fused {
    fn enter(&mut self, execution: Execution, parameter: Option<f64>) {
        let entry = self.engine.enter(self.segment, parameter).expect("the segment is there");
        if let Entry::Running(ticket) | Entry::Waiting(ticket) = entry {
            self.open(ticket, execution);
        }
        self.react();
        match entry {
            Entry::Running(_) => self.events.push(Event::Running(execution)),
            Entry::Waiting(_) => {}
            Entry::Refused(refusal) => self.events.push(Event::Rejected { execution, refusal }),
        }
    }

    fn exit(&mut self, execution: Execution, outcomes: Outcomes) -> bool {
        let ticket = self.tickets.remove(&execution).expect("an open execution");
        let moved = self.engine.exit(ticket, outcomes).expect("an open ticket");
        self.react();
        self.executions.remove(&ticket);
        moved
    }

    fn mark(&mut self, execution: Execution) {
        self.engine.mark(self.tickets[&execution]).expect("an open ticket");
        self.react();
    }

    fn advance(&mut self, now: Nanos) {
        self.engine.at(now, self.driver);
        self.engine.tick();
        self.react();
        while let Some(timer) = self.alarms.pop(now) {
            self.engine.expire(timer);
            self.react();
        }
    }

    fn dispose(&mut self) {
        self.engine.dispose(self.segment).expect("the segment is there");
        self.react();
    }

    fn breaker(&mut self, gate: usize) -> Option<&mut CircuitBreaker> {
        self.engine.circuit_breaker(self.segment, gate).ok()
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn readings(&mut self) -> Vec<Reading> {
        (0..self.gates).map(|gate| read(&mut self.engine, self.segment, gate)).collect()
    }

    fn pending(&self) -> (usize, bool) {
        (self.engine.open(), self.engine.next_tick().is_some() || !self.alarms.is_empty())
    }
}
