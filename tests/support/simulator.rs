//! Callers in front of a segment and a dependency behind it, in simulated time. Times are in milliseconds.
//!
//! The callers are an open loop: they come at their rate whatever happens to them. The dependency serves as
//! many calls at once as it has workers; the others queue inside it, first come first served. A call whose
//! deadline has passed leaves that queue; one that a worker has begun is served to its end, for nobody.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;

use resilience::core::clock::Nanos;
use resilience::core::effect::Effect;
use resilience::core::engine::Engine;
use resilience::core::gate::Gate;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

use resilience::core::random::Random;

/// The world from a moment on, until the next phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// When it begins.
    pub from_ms: f64,
    /// Calls that the dependency serves at once.
    pub workers: usize,
    /// Calls offered in a second.
    pub rate: f64,
}

/// How callers are spaced.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// Evenly.
    Even,
    /// At random, independent of each other.
    Poisson,
}

/// One run.
pub struct Scenario<'a> {
    /// The segment in front of the dependency; its first gate is a limiter.
    pub gates: Vec<Gate>,
    /// What happens when. The first phase begins at 0.
    pub phases: &'a [Phase],
    /// How callers are spaced.
    pub arrivals: Arrivals,
    /// How long the dependency serves a call.
    pub service_ms: &'a dyn Fn(&mut Random) -> f64,
    /// When the run ends.
    pub until_ms: f64,
    /// Of the arrivals and the service.
    pub seed: u64,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// When each answered call finished, and how long it took.
    pub answered: Vec<(f64, f64)>,
    /// When each call that was turned away came.
    pub refused: Vec<f64>,
    /// When each deadline passed.
    pub timed_out: Vec<f64>,
    /// Each limit and when it began.
    pub limits: Vec<(f64, u32)>,
}

impl Report {
    /// Calls answered in a second.
    pub fn throughput(&self, window: &Range<f64>) -> f64 {
        let answered = self.answered.iter().filter(|(at, _)| window.contains(at)).count();
        count(answered) * 1000.0 / (window.end - window.start)
    }

    /// The share of calls that were turned away.
    pub fn refused_share(&self, window: &Range<f64>) -> f64 {
        let within = |times: &mut dyn Iterator<Item = f64>| count(times.filter(|at| window.contains(at)).count());
        let refused = within(&mut self.refused.iter().copied());
        let timed_out = within(&mut self.timed_out.iter().copied());
        refused / (refused + timed_out + within(&mut self.answered.iter().map(|(at, _)| *at)))
    }

    /// The mean limit over time.
    pub fn mean_limit(&self, window: &Range<f64>) -> f64 {
        let ends = self.limits.iter().skip(1).map(|(at, _)| *at).chain([f64::INFINITY]);
        let area: f64 = self
            .limits
            .iter()
            .zip(ends)
            .map(|(&(begin, limit), end)| {
                f64::from(limit) * (end.min(window.end) - begin.max(window.start)).max(0.0)
            })
            .sum();
        area / (window.end - window.start)
    }

    /// The latency that this share of the answered calls stayed within.
    pub fn latency(&self, share: f64, window: &Range<f64>) -> f64 {
        let mut latencies: Vec<f64> =
            self.answered.iter().filter(|(at, _)| window.contains(at)).map(|(_, latency)| *latency).collect();
        latencies.sort_by(f64::total_cmp);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of a list")]
        let index = (count(latencies.len()) * share) as usize;
        latencies[index.min(latencies.len() - 1)]
    }
}

/// Runs a scenario to its end.
pub fn run(scenario: Scenario<'_>) -> Report {
    let mut simulation = Simulation::new(scenario);
    while simulation.step() {}
    simulation.report
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Phase(Phase),
    Arrival,
    Served(Key),
}

/// An event and its moment; events of one moment happen in the order they were planned.
#[derive(Debug)]
struct Planned {
    at: f64,
    order: u64,
    event: Event,
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Planned {}

struct Simulation<'a> {
    engine: Engine,
    segment: Key,
    plan: BinaryHeap<Reverse<Planned>>,
    planned: u64,
    now: f64,
    until: f64,
    phase: Phase,
    arrivals: Arrivals,
    service_ms: &'a dyn Fn(&mut Random) -> f64,
    random: Random,
    /// When each open call came.
    calls: HashMap<Key, f64>,
    busy: usize,
    backlog: VecDeque<Key>,
    report: Report,
}

impl<'a> Simulation<'a> {
    fn new(scenario: Scenario<'a>) -> Self {
        let mut engine = Engine::default();
        let segment = engine.add_segment(scenario.gates).expect("a segment of few gates");
        let limit = engine.permits(segment, 0).expect("the first gate is a limiter").limit();
        let mut simulation = Self {
            engine,
            segment,
            plan: BinaryHeap::new(),
            planned: 0,
            now: 0.0,
            until: scenario.until_ms,
            phase: scenario.phases[0],
            arrivals: scenario.arrivals,
            service_ms: scenario.service_ms,
            random: Random::new(scenario.seed),
            calls: HashMap::new(),
            busy: 0,
            backlog: VecDeque::new(),
            report: Report { limits: vec![(0.0, limit)], ..Report::default() },
        };
        for phase in scenario.phases {
            simulation.plan(phase.from_ms, Event::Phase(*phase));
        }
        simulation.plan(0.0, Event::Arrival);
        simulation
    }

    fn plan(&mut self, at: f64, event: Event) {
        self.plan.push(Reverse(Planned { at, order: self.planned, event }));
        self.planned += 1;
    }

    /// Goes to the next event or deadline; false at the end of the run.
    fn step(&mut self) -> bool {
        let Some(Reverse(next)) = self.plan.peek() else { return false };
        let deadline = self.engine.next_tick().map_or(f64::INFINITY, milliseconds);
        if next.at.min(deadline) >= self.until {
            return false;
        }
        if deadline <= next.at {
            self.go_to(deadline);
            self.engine.tick();
        } else if let Some(Reverse(Planned { at, event, .. })) = self.plan.pop() {
            self.go_to(at);
            self.happen(event);
        }
        self.react();
        true
    }

    fn go_to(&mut self, at: f64) {
        self.now = at;
        self.engine.at(Nanos::from_ms(at), Driver::Wheel);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Phase(phase) => {
                self.phase = phase;
                self.serve();
            }
            Event::Arrival => {
                let gap = 1000.0 / self.phase.rate;
                let gap = match self.arrivals {
                    Arrivals::Even => gap,
                    Arrivals::Poisson => self.random.exponential(gap),
                };
                self.plan(self.now + gap, Event::Arrival);
                self.arrive();
            }
            Event::Served(call) => {
                self.busy -= 1;
                self.serve();
                if let Some(came) = self.calls.remove(&call) {
                    self.report.answered.push((self.now, self.now - came));
                    self.exit(call, Outcome::Success);
                }
            }
        }
    }

    fn arrive(&mut self) {
        match self.engine.enter(self.segment, None).expect("the segment is there") {
            Entry::Running(call) => {
                self.calls.insert(call, self.now);
                self.send(call);
            }
            Entry::Waiting(call) => {
                self.calls.insert(call, self.now);
            }
            Entry::Refused(_) => self.report.refused.push(self.now),
        }
    }

    fn exit(&mut self, call: Key, outcome: Outcome) {
        self.engine.exit(call, Outcomes::all(outcome)).expect("the call is open");
    }

    /// Acts on what the engine says has happened.
    fn react(&mut self) {
        while !self.engine.effects().is_empty() {
            for effect in std::mem::take(self.engine.effects()) {
                match effect {
                    Effect::Admitted { ticket } => self.send(ticket),
                    Effect::Rejected { ticket, .. } => {
                        self.calls.remove(&ticket);
                        self.report.refused.push(self.now);
                        self.exit(ticket, Outcome::Drop);
                    }
                    Effect::TimedOut { ticket, .. } => {
                        self.calls.remove(&ticket);
                        self.backlog.retain(|call| *call != ticket);
                        self.report.timed_out.push(self.now);
                        self.exit(ticket, Outcome::Drop);
                    }
                    Effect::LimitChanged { new, .. } => self.report.limits.push((self.now, new)),
                    other => unreachable!(
                        "{other:?}: limiters and deadlines only, algorithms in the core, and the wheel drives"
                    ),
                }
            }
        }
    }

    fn send(&mut self, call: Key) {
        self.backlog.push_back(call);
        self.serve();
    }

    fn serve(&mut self) {
        while self.busy < self.phase.workers {
            let Some(call) = self.backlog.pop_front() else { return };
            self.busy += 1;
            let service_ms = (self.service_ms)(&mut self.random);
            self.plan(self.now + service_ms, Event::Served(call));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 calls")]
const fn count(of: usize) -> f64 {
    of as f64
}

#[expect(clippy::cast_precision_loss, reason = "a run lasts less than 2^53 milliseconds")]
const fn milliseconds(tick: u64) -> f64 {
    tick as f64
}
