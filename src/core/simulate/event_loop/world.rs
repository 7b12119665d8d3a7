//! Plays a scenario that has an event loop.

mod outside;

use super::gate::{Entry, Fate, Gate};
use super::kernel::{Kernel, Ready};
use crate::core::outcome::Outcome;
use crate::core::random::Random;
use crate::core::simulate::callers::Source;
use crate::core::simulate::dependency::Dependency;
use crate::core::simulate::plan::Plan;
use crate::core::simulate::record::{End, Mark, Record};
use crate::core::simulate::scenario::{EventLoop, Scenario, Stall};
use crate::core::simulate::world::{MAX_CALLS, Stopped};
use crate::core::slab::{Key, Slab};

/// Turns from one look at the watcher to the next.
const TURNS_A_LOOK: u32 = 1024;

/// As [`play`](crate::core::simulate::world::play).
///
/// # Errors
///
/// [`Stopped`].
pub fn play(
    (scenario, event_loop): (&Scenario, &EventLoop),
    seed: u64,
    moments: &[f64],
    watch: &dyn Fn(f64) -> bool,
) -> Result<Record, Stopped> {
    let mut world = World::new(scenario, event_loop, seed, moments)?;
    let mut turns = 0;
    while world.turn()? {
        turns += 1;
        if turns == TURNS_A_LOOK {
            turns = 0;
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
    Arrival { caller: usize, epoch: u32 },
    Again { caller: usize, attempts: u32 },
    Stall { begins: bool, epoch: u32 },
    Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the kernel.
    Unread,
    Waiting(Key),
    Started(Key),
    /// Its end is on record, but its work goes on: the timeout has ended it, or its answer has begun.
    Recorded,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    caller: usize,
    came: f64,
    attempts: u32,
    cpu_ms: f64,
    service_ms: f64,
    is_lost: bool,
    io_calls: u32,
    state: State,
}

struct World<'a> {
    scenario: &'a Scenario,
    event_loop: &'a EventLoop,
    gate: Gate,
    kernel: Kernel,
    sources: Vec<Source>,
    dependency: Dependency,
    losses: Random,
    slowdown: f64,
    loss: f64,
    stall: Option<Stall>,
    stall_epoch: u32,
    plan: Plan<Event>,
    now: f64,
    idle: f64,
    /// Whether the loop slept in the turn that it is in.
    slept: bool,
    next_pause: f64,
    calls: Slab<Open>,
    /// The call of each key of the gate, by the key's place.
    by_key: Vec<Option<Key>>,
    /// Until when clients wait for calls that the gate holds.
    patience: Plan<Key>,
    limit: u32,
    inflight: u32,
    sums: Mark,
    record: Record,
}

impl<'a> World<'a> {
    fn new(
        scenario: &'a Scenario,
        event_loop: &'a EventLoop,
        seed: u64,
        moments: &[f64],
    ) -> Result<Self, Stopped> {
        let described = &scenario.dependency;
        let limit = if event_loop.overload.is_some() { 0 } else { scenario.first_limit() };
        let mut world = Self {
            scenario,
            event_loop,
            gate: Gate::new(scenario)?,
            kernel: Kernel::new(event_loop.backlog),
            sources: (0..)
                .zip(&scenario.callers)
                .map(|(index, caller)| Source::new(caller, seed, index))
                .collect(),
            dependency: Dependency::new(described.workers, described.sharing),
            losses: Random::new(seed),
            slowdown: 1.0,
            loss: described.loss,
            stall: None,
            stall_epoch: 0,
            plan: Plan::default(),
            now: 0.0,
            idle: 0.0,
            slept: false,
            next_pause: event_loop.pause.map_or(f64::INFINITY, |pause| pause.every_ms),
            calls: Slab::default(),
            by_key: Vec::new(),
            patience: Plan::default(),
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
        world.set_stall(described.stall, 0.0);
        for caller in 0..world.sources.len() {
            world.plan_arrival(caller, 0.0);
            for _ in 0..world.sources[caller].users() {
                let pause = world.sources[caller].think_ms(false).unwrap_or_default();
                world.plan.push(pause, Event::Again { caller, attempts: 0 });
            }
        }
        Ok(world)
    }

    /// One turn of the loop; false at the end of the run.
    fn turn(&mut self) -> Result<bool, Stopped> {
        self.gate.fire_timers(self.now);
        self.settle()?;
        self.sleep();
        if self.now >= self.scenario.duration_ms {
            return Ok(false);
        }
        self.poll()?;
        if self.gate.check(self.now, self.idle) {
            self.settle()?;
            while let Some(key) = self.gate.next_start(self.now) {
                self.start_by_key(key)?;
                self.settle()?;
            }
        }
        self.settle()?;
        Ok(true)
    }

    fn sleep(&mut self) {
        self.slept = false;
        self.happen_until(self.now);
        while self.kernel.is_empty() && !self.gate.is_due() && self.now < self.scenario.duration_ms {
            let until = self.next_event().min(self.gate.next_timer()).min(self.next_pause);
            let until = until.clamp(self.now, self.scenario.duration_ms);
            self.slept |= until > self.now;
            self.idle += until - self.now;
            self.now = until;
            self.happen_until(until);
            if self.gate.next_timer() <= until || self.next_pause <= until {
                return;
            }
        }
    }

    fn poll(&mut self) -> Result<(), Stopped> {
        self.now += self.event_loop.costs.turn_ms;
        if let Some(pause) = self.event_loop.pause.filter(|_| self.next_pause <= self.now) {
            self.now += pause.length_ms;
            self.next_pause += pause.every_ms;
        }
        self.happen_until(self.now);
        let batch = self.kernel.poll();
        while self.kernel.accept().is_some() {
            self.now += self.event_loop.costs.accept_ms;
            self.gate.connected();
            if !self.event_loop.accepts_all {
                break;
            }
        }
        while self.patience.next().is_some_and(|until| until <= self.now) {
            self.give_up()?;
        }
        for ready in batch {
            match ready {
                Ready::Call(call) => self.read(call)?,
                Ready::Continuation(call) => self.go_on(call)?,
            }
            self.settle()?;
        }
        Ok(())
    }

    /// A client leaves, if its call still waits in the gate.
    fn give_up(&mut self) -> Result<(), Stopped> {
        let Some(call) = self.patience.pop() else { return Ok(()) };
        let Some(Open { state: State::Waiting(key), .. }) = self.calls.get(call).copied() else { return Ok(()) };
        self.gate.end(key, Outcome::NoSample, None, self.now)?;
        self.finish(call, End::TimedOut);
        Ok(())
    }

    fn read(&mut self, call: Key) -> Result<(), Stopped> {
        self.now += self.event_loop.costs.parse_ms;
        let Some(Open { caller, came, .. }) = self.calls.get(call).copied() else { return Ok(()) };
        let described = &self.scenario.callers[caller];
        let entry = self.gate.offer(described.client, described.priority, self.now, self.idle)?;
        match entry {
            Entry::Start(key) => {
                self.name(key, call, State::Started(key));
                self.start(call)
            }
            Entry::Wait(key) => {
                self.name(key, call, State::Waiting(key));
                if self.scenario.deadline_ms.is_finite() {
                    self.patience.push(came + self.scenario.deadline_ms, call);
                }
                Ok(())
            }
            Entry::Refuse => {
                self.refuse(call);
                Ok(())
            }
        }
    }

    fn name(&mut self, key: Key, call: Key, state: State) {
        let place = key.index();
        if place >= self.by_key.len() {
            self.by_key.resize(place + 1, None);
        }
        self.by_key[place] = Some(call);
        self.set(call, state);
    }

    fn set(&mut self, call: Key, state: State) {
        if let Some(open) = self.calls.get_mut(call) {
            open.state = state;
        }
    }

    fn start_by_key(&mut self, key: Key) -> Result<(), Stopped> {
        let Some(call) = self.by_key[key.index()] else { return Ok(()) };
        self.set(call, State::Started(key));
        self.start(call)
    }

    fn start(&mut self, call: Key) -> Result<(), Stopped> {
        let Some(open) = self.calls.get(call).copied() else { return Ok(()) };
        self.catch_up();
        self.inflight += 1;
        if open.io_calls == 0 {
            self.now += open.cpu_ms;
            return self.answer(call);
        }
        self.now += open.cpu_ms * self.event_loop.before;
        if self.scenario.callers[open.caller].streams
            && let State::Started(key) = open.state
        {
            self.gate.answer_begins(key, self.now);
            self.note(&open, End::Answered);
            self.set(call, State::Recorded);
        }
        self.send(call);
        Ok(())
    }

    fn send(&mut self, call: Key) {
        self.happen_until(self.now);
        self.dependency.take(call);
        self.serve(self.now);
    }

    fn go_on(&mut self, call: Key) -> Result<(), Stopped> {
        let EventLoop { before, io_calls, .. } = *self.event_loop;
        let Some(open) = self.calls.get_mut(call) else { return Ok(()) };
        self.now += open.cpu_ms * (1.0 - before) / f64::from(io_calls);
        open.io_calls -= 1;
        if open.io_calls > 0 {
            self.send(call);
            return Ok(());
        }
        self.answer(call)
    }

    fn answer(&mut self, call: Key) -> Result<(), Stopped> {
        self.now += self.event_loop.costs.answer_ms;
        let Some(open) = self.calls.get(call).copied() else { return Ok(()) };
        self.catch_up();
        self.inflight -= 1;
        let (end, outcome) =
            if open.is_lost { (End::Lost, Outcome::Drop) } else { (End::Answered, Outcome::Success) };
        if let State::Started(key) = open.state {
            let operation = self.scenario.callers[open.caller].operation;
            let operation = self.scenario.limiter.operation_keys.then_some(operation);
            self.gate.end(key, outcome, operation, self.now)?;
        }
        self.finish(call, end);
        Ok(())
    }

    fn refuse(&mut self, call: Key) {
        self.now += self.event_loop.costs.refuse_ms;
        self.finish(call, if self.slept { End::RefusedIdle } else { End::Refused });
    }

    /// Acts on what the gate says has happened.
    fn settle(&mut self) -> Result<(), Stopped> {
        let mut limit = self.limit;
        while let Some(fate) = self.gate.next_fate(self.now, &mut limit) {
            match fate {
                Fate::Start(key) => self.start_by_key(key)?,
                Fate::Refuse(key) => {
                    if let Some(call) = self.by_key[key.index()] {
                        if let Gate::Limiters(..) = self.gate {
                            self.gate.end(key, Outcome::NoSample, None, self.now)?;
                        }
                        self.refuse(call);
                    }
                }
                Fate::TimeOut(key) => self.time_out(key)?,
            }
        }
        if limit != self.limit {
            self.catch_up();
            self.limit = limit;
            self.record.limits.push((self.now, limit));
        }
        Ok(())
    }

    /// The handler is not interrupted.
    fn time_out(&mut self, key: Key) -> Result<(), Stopped> {
        let Some(call) = self.by_key[key.index()] else { return Ok(()) };
        self.gate.end(key, Outcome::Drop, None, self.now)?;
        self.now += self.event_loop.costs.refuse_ms;
        if let Some(open) = self.calls.get(call).copied() {
            self.note(&open, End::TimedOut);
            self.set(call, State::Recorded);
        }
        Ok(())
    }
}
