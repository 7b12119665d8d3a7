//! Plays a scenario.

use thiserror::Error;

use super::callers::Source;
use super::dependency::Dependency;
use super::event_loop;
use super::plan::Plan;
use super::record::{Call, End, Mark, Record};
use super::scenario::{Phase, Scenario, Stall};
use crate::core::clock::Nanos;
use crate::core::effect::Effect;
use crate::core::engine::Engine;
use crate::core::error;
use crate::core::outcome::{Outcome, Outcomes};
use crate::core::random::Random;
use crate::core::segment::Entry;
use crate::core::slab::{Key, Slab};
use crate::core::timers::Driver;

/// The most calls of a run: each is kept.
pub const MAX_CALLS: usize = 20_000_000;
/// Steps from one look at the watcher to the next.
const STEPS_A_LOOK: u32 = 4096;

/// Why a run has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Stopped {
    /// The watcher said so.
    #[error("cancelled")]
    Cancelled,
    /// It would not fit the memory.
    #[error("the scenario makes more than {MAX_CALLS} calls")]
    TooManyCalls,
    /// The engine refused, which is a defect.
    #[error(transparent)]
    Engine(#[from] error::Error),
}

/// Plays `scenario`, and marks the record at `moments`, which are in order. Tells `watch` now and then how much
/// of the time is over, and stops when that answers false.
///
/// # Errors
///
/// [`Stopped`].
pub fn play(
    scenario: &Scenario,
    seed: u64,
    moments: &[f64],
    watch: &dyn Fn(f64) -> bool,
) -> Result<Record, Stopped> {
    if let Some(event_loop) = &scenario.event_loop {
        return event_loop::world::play((scenario, event_loop), seed, moments, watch);
    }
    let mut world = World::new(scenario, seed, moments)?;
    let mut steps = 0;
    while world.step()? {
        steps += 1;
        if steps == STEPS_A_LOOK {
            steps = 0;
            if !watch(world.now / scenario.duration_ms) {
                return Err(Stopped::Cancelled);
            }
            if world.record.calls.len() + world.calls.len() > MAX_CALLS {
                return Err(Stopped::TooManyCalls);
            }
        }
    }
    Ok(world.end())
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Phase(usize),
    /// Of one caller, if its rate has not changed since.
    Arrival {
        caller: usize,
        epoch: u32,
    },
    /// One more attempt, or a user who has thought.
    Again {
        caller: usize,
        attempts: u32,
    },
    /// The dependency stalls, or goes on; void if its stalls have changed since.
    Stall {
        begins: bool,
        epoch: u32,
    },
    Mark,
}

/// A call under way.
#[derive(Debug)]
struct Open {
    ticket: Key,
    caller: usize,
    came: f64,
    attempts: u32,
    service_ms: f64,
    is_lost: bool,
}

struct World<'a> {
    scenario: &'a Scenario,
    engine: Engine,
    /// By client.
    segments: Vec<Key>,
    sources: Vec<Source>,
    dependency: Dependency,
    losses: Random,
    slowdown: f64,
    loss: f64,
    stall: Option<Stall>,
    stall_epoch: u32,
    plan: Plan<Event>,
    now: f64,
    calls: Slab<Open>,
    /// The call of each open ticket, by the ticket's place.
    by_ticket: Vec<Option<Key>>,
    limit: u32,
    inflight: u32,
    sums: Mark,
    record: Record,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, seed: u64, moments: &[f64]) -> Result<Self, Stopped> {
        let mut engine = Engine::default();
        let segments = (0..scenario.clients())
            .map(|_| engine.add_segment(scenario.gates()))
            .collect::<Result<Vec<_>, _>>()?;
        let limit = scenario.first_limit();
        let sources =
            (0..).zip(&scenario.callers).map(|(index, caller)| Source::new(caller, seed, index)).collect();
        let described = &scenario.dependency;
        let mut world = Self {
            scenario,
            engine,
            segments,
            sources,
            dependency: Dependency::new(described.workers, described.sharing),
            losses: Random::new(seed),
            slowdown: 1.0,
            loss: described.loss,
            stall: None,
            stall_epoch: 0,
            plan: Plan::default(),
            now: 0.0,
            calls: Slab::default(),
            by_ticket: Vec::new(),
            limit,
            inflight: 0,
            sums: Mark::default(),
            record: Record { limits: vec![(0.0, limit)], ..Record::default() },
        };
        for at in moments {
            world.plan.push(*at, Event::Mark);
        }
        for (index, phase) in scenario.phases.iter().enumerate() {
            world.plan.push(phase.at_ms, Event::Phase(index));
        }
        world.set_stall(described.stall);
        for caller in 0..world.sources.len() {
            world.plan_arrival(caller);
            for _ in 0..world.sources[caller].users() {
                let pause = world.sources[caller].think_ms(false).unwrap_or_default();
                world.plan.push(pause, Event::Again { caller, attempts: 0 });
            }
        }
        Ok(world)
    }

    fn plan_arrival(&mut self, caller: usize) {
        let epoch = self.sources[caller].epoch();
        if let Some(gap) = self.sources[caller].gap_ms() {
            self.plan.push(self.now + gap, Event::Arrival { caller, epoch });
        }
    }

    /// Goes to the next event, finish or deadline; false at the end of the run.
    fn step(&mut self) -> Result<bool, Stopped> {
        let planned = self.plan.next().unwrap_or(f64::INFINITY);
        let finish = self.dependency.next_finish();
        let deadline = self.engine.next_tick().map_or(f64::INFINITY, milliseconds);
        let next = planned.min(finish).min(deadline);
        if next > self.scenario.duration_ms {
            return Ok(false);
        }
        self.go_to(next);
        if deadline <= next {
            self.engine.tick();
        } else if finish <= next {
            self.finish()?;
        } else if let Some(event) = self.plan.pop() {
            self.happen(event)?;
        }
        self.react()?;
        Ok(true)
    }

    fn go_to(&mut self, at: f64) {
        let lasted = at - self.now;
        self.sums.limit += f64::from(self.limit) * lasted;
        self.sums.inflight += f64::from(self.inflight) * lasted;
        self.sums.at_ms = at;
        self.now = at;
        self.engine.at(Nanos::from_ms(at), Driver::Wheel);
    }

    fn happen(&mut self, event: Event) -> Result<(), Stopped> {
        match event {
            Event::Phase(index) => self.change(&self.scenario.phases[index]),
            Event::Arrival { caller, epoch } if epoch == self.sources[caller].epoch() => {
                self.plan_arrival(caller);
                for _ in 0..self.sources[caller].together() {
                    self.arrive(caller, 0)?;
                }
            }
            Event::Arrival { .. } => {}
            Event::Again { caller, attempts } => self.arrive(caller, attempts)?,
            Event::Stall { begins, epoch } => {
                if let Some(stall) = self.stall.filter(|_| epoch == self.stall_epoch) {
                    self.dependency.set_stalled(begins, self.now);
                    let rest = if begins { stall.length_ms } else { stall.every_ms - stall.length_ms };
                    self.plan.push(self.now + rest, Event::Stall { begins: !begins, epoch });
                }
            }
            Event::Mark => self.record.marks.push(self.sums),
        }
        Ok(())
    }

    fn change(&mut self, phase: &Phase) {
        if let Some(workers) = phase.workers {
            self.dependency.set_workers(workers, self.now);
            self.serve();
        }
        self.slowdown = phase.slowdown.unwrap_or(self.slowdown);
        self.loss = phase.loss.unwrap_or(self.loss);
        if let Some(stall) = phase.stall {
            self.set_stall(stall);
        }
        for (caller, rate) in phase.rates.iter().enumerate().filter(|(_, rate)| !rate.is_nan()) {
            self.sources[caller].set_rate(*rate);
            self.plan_arrival(caller);
        }
    }

    fn set_stall(&mut self, stall: Option<Stall>) {
        self.stall = stall;
        self.stall_epoch += 1;
        self.dependency.set_stalled(false, self.now);
        if let Some(stall) = stall {
            self.plan.push(self.now + stall.every_ms, Event::Stall { begins: true, epoch: self.stall_epoch });
        }
    }

    fn arrive(&mut self, caller: usize, attempts: u32) -> Result<(), Stopped> {
        let described = &self.scenario.callers[caller];
        let service = described.service.unwrap_or(self.scenario.dependency.service);
        let service_ms = service.draw(self.sources[caller].services());
        let is_lost = self.losses.unit() < self.loss;
        let entry = self.engine.enter(self.segments[described.client], Some(described.priority))?;
        let ticket = match entry {
            Entry::Running(ticket) | Entry::Waiting(ticket) => ticket,
            Entry::Refused(_) => {
                let end = self.refusal();
                self.note(caller, self.now, attempts, end);
                return Ok(());
            }
        };
        let open = Open { ticket, caller, came: self.now, attempts, service_ms, is_lost };
        let call = self.calls.insert(open);
        let place = ticket.index();
        if place >= self.by_ticket.len() {
            self.by_ticket.resize(place + 1, None);
        }
        self.by_ticket[place] = Some(call);
        if matches!(entry, Entry::Running(_)) {
            self.send(call);
        }
        Ok(())
    }

    fn send(&mut self, call: Key) {
        self.inflight += 1;
        self.dependency.take(call);
        self.serve();
    }

    fn serve(&mut self) {
        let Self { dependency, calls, slowdown, now, .. } = self;
        dependency.begin(*now, |call| calls.get(call).map(|open| open.service_ms * *slowdown));
    }

    fn finish(&mut self) -> Result<(), Stopped> {
        let call = self.dependency.finish(self.now);
        self.serve();
        // One that a timeout has ended is served for nobody.
        if let Some(open) = call.and_then(|call| self.calls.remove(call)) {
            self.inflight -= 1;
            let (end, outcome) =
                if open.is_lost { (End::Lost, Outcome::Drop) } else { (End::Answered, Outcome::Success) };
            self.leave(&open, end, outcome)?;
        }
        Ok(())
    }

    /// Acts on what the engine says has happened.
    fn react(&mut self) -> Result<(), Stopped> {
        while let Some(effect) = self.engine.effects().pop_front() {
            match effect {
                Effect::Admitted { ticket } => {
                    if let Some(call) = self.by_ticket[ticket.index()] {
                        self.send(call);
                    }
                }
                Effect::Rejected { ticket, .. } => {
                    let end = self.refusal();
                    if let Some(open) = self.by_ticket[ticket.index()].and_then(|call| self.calls.remove(call)) {
                        self.leave(&open, end, Outcome::NoSample)?;
                    }
                }
                Effect::TimedOut { ticket, .. } => {
                    if let Some(open) = self.by_ticket[ticket.index()].and_then(|call| self.calls.remove(call)) {
                        self.inflight -= 1;
                        self.leave(&open, End::TimedOut, Outcome::Drop)?;
                    }
                }
                Effect::LimitChanged { old, new, .. } => {
                    self.limit = self.limit + new - old;
                    self.record.limits.push((self.now, self.limit));
                }
                // Limiters and deadlines only, algorithms in the core, and the wheel drives.
                _ => {}
            }
        }
        Ok(())
    }

    fn leave(&mut self, open: &Open, end: End, outcome: Outcome) -> Result<(), Stopped> {
        self.by_ticket[open.ticket.index()] = None;
        let outcomes = Outcomes::all(outcome);
        let operation = self.scenario.callers[open.caller].operation;
        let keyed = self.scenario.limiter.operation_keys;
        self.engine.exit(open.ticket, if keyed { outcomes.with_operation(operation) } else { outcomes })?;
        self.note(open.caller, open.came, open.attempts, end);
        Ok(())
    }

    fn refusal(&self) -> End {
        if self.dependency.has_idle_worker() { End::RefusedIdle } else { End::Refused }
    }

    /// Records a call's end, and plans what its caller does next.
    fn note(&mut self, caller: usize, came: f64, attempts: u32, end: End) {
        self.record.calls.push(record(caller, came, self.now, end));
        let failed = end != End::Answered;
        let source = &mut self.sources[caller];
        let retry = if failed { source.retry_ms(attempts) } else { None };
        if let Some(delay) = retry {
            self.plan.push(self.now + delay, Event::Again { caller, attempts: attempts + 1 });
        } else if let Some(pause) = source.think_ms(matches!(end, End::Refused | End::RefusedIdle)) {
            self.plan.push(self.now + pause, Event::Again { caller, attempts: 0 });
        }
    }

    fn end(mut self) -> Record {
        self.go_to(self.scenario.duration_ms);
        self.record.marks.push(self.sums);
        for call in self.calls.keys() {
            if let Some(open) = self.calls.get(call) {
                self.record.calls.push(record(open.caller, open.came, self.now, End::Open));
            }
        }
        self.record
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a latency to seven digits, and at most 256 callers")]
const fn record(caller: usize, came: f64, ended: f64, end: End) -> Call {
    Call { ended_ms: ended, took_ms: (ended - came) as f32, caller: caller as u8, end }
}

#[expect(clippy::cast_precision_loss, reason = "a run lasts less than 2^53 milliseconds")]
const fn milliseconds(tick: u64) -> f64 {
    tick as f64
}
