//! All gates in one segment.

use std::collections::HashMap;

use resilience::core::clock::Nanos;
use resilience::core::effect::{Effect, Refusal};
use resilience::core::engine::Engine;
use resilience::core::outcome::Outcomes;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

use super::alarms::Alarms;
use super::program::Recipe;
use super::system::{Counts, Event, Execution, System, answer, counts};

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
        let segment = engine.add_segment(recipes.iter().map(Recipe::gate).collect()).expect("one to four gates");
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

    fn reject(&mut self, execution: Execution, Refusal { gate, reason, active, queued }: Refusal) {
        self.events.push(Event::Rejected { execution, gate, reason, active, queued });
    }

    /// Takes the effects, then answers the samples among them.
    fn react(&mut self) {
        let mut samples = Vec::new();
        for effect in std::mem::take(self.engine.effects()) {
            match effect {
                Effect::Admitted { ticket } => self.events.push(Event::Running(self.executions[&ticket])),
                Effect::Rejected { ticket, refusal } => self.reject(self.executions[&ticket], refusal),
                Effect::TimedOut { ticket, gate } => {
                    self.events.push(Event::TimedOut { execution: self.executions[&ticket], gate });
                }
                Effect::LimitChanged { gate, old, new, sample, .. } => {
                    self.events.push(Event::LimitChanged { gate, old, new, sample });
                }
                Effect::Sampled { gate, sample, cuts, .. } => {
                    self.events.push(Event::Sampled { gate, sample, cuts });
                    samples.push((gate, sample, cuts));
                }
                Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
                Effect::Disarmed { timer } => self.alarms.disarm(timer),
            }
        }
        for (gate, sample, cuts) in samples {
            let next = answer(sample);
            self.engine.apply_limit(self.segment, gate, next, sample, cuts).expect("an adaptive limiter");
            self.react();
        }
    }
}

impl System for Fused {
    fn enter(&mut self, execution: Execution, parameter: Option<f64>) {
        let entry = self.engine.enter(self.segment, parameter).expect("the segment is there");
        match entry {
            Entry::Running(ticket) | Entry::Waiting(ticket) => self.open(ticket, execution),
            Entry::Refused(refusal) => self.reject(execution, refusal),
        }
        self.react();
        if matches!(entry, Entry::Running(_)) {
            self.events.push(Event::Running(execution));
        }
    }

    fn exit(&mut self, execution: Execution, outcomes: Outcomes) {
        let ticket = self.tickets.remove(&execution).expect("an open execution");
        self.engine.exit(ticket, outcomes).expect("an open ticket");
        self.react();
        self.executions.remove(&ticket);
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

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn counts(&self) -> Vec<Option<Counts>> {
        (0..self.gates).map(|gate| counts(&self.engine, self.segment, gate)).collect()
    }

    fn pending(&self) -> (usize, bool) {
        (self.engine.open(), self.engine.next_tick().is_some() || !self.alarms.is_empty())
    }
}
