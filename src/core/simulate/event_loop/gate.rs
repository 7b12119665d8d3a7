//! What lets calls start: the loop's own protection, or a limiter.

use crate::core::clock::Nanos;
use crate::core::effect::Effect;
use crate::core::engine::Engine;
use crate::core::error::Error;
use crate::core::outcome::{Outcome, Outcomes};
use crate::core::segment;
use crate::core::simulate::scenario::Scenario;
use crate::core::slab::Key;
use crate::core::timers::Driver;
use crate::core::turns::answers::{Ended, Offer, Offered, Turn, level};
use crate::core::turns::gate::Turns;

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It starts; by this key it ends.
    Start(Key),
    /// It waits.
    Wait(Key),
    /// It is turned away.
    Refuse,
}

/// What became of a call that waited, or has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It starts.
    Start(Key),
    /// It is turned away.
    Refuse(Key),
    /// The timeout has ended it.
    TimeOut(Key),
}

/// One of both.
#[derive(Debug)]
pub enum Gate {
    /// The loop's own protection.
    Turns(Box<Watched>),
    /// A limiter for each client.
    Limiters(Box<Engine>, Vec<Key>),
}

/// The protection, and what JavaScript does around it.
#[derive(Debug)]
pub struct Watched {
    turns: Turns,
    door: Key,
    /// Whether the runtime tells how long the loop sleeps.
    tells_idle: bool,
    /// Whether a callback is due in the check phase.
    is_due: bool,
    /// When a timer asks for one.
    wake_at: f64,
    /// Starts that an end of another allows, after all jobs.
    allowed: u32,
}

impl Gate {
    /// The gate of a scenario.
    ///
    /// # Errors
    ///
    /// As [`Engine::add_segment`].
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        let described = scenario.event_loop.as_ref();
        if let Some((overload, event_loop)) =
            described.and_then(|described| described.overload.zip(Some(described)))
        {
            let mut turns = Turns::default();
            let door = turns.add_door(overload.target_ms, overload.max_ms);
            let tells_idle = event_loop.tells_idle;
            let watched = Watched { turns, door, tells_idle, is_due: false, wake_at: f64::INFINITY, allowed: 0 };
            return Ok(Self::Turns(Box::new(watched)));
        }
        let mut engine = Engine::default();
        let segments: Result<Vec<_>, _> =
            (0..scenario.clients()).map(|_| engine.add_segment(scenario.gates())).collect();
        Ok(Self::Limiters(Box::new(engine), segments?))
    }

    /// A connection came.
    pub fn connected(&mut self) {
        if let Self::Turns(watched) = self {
            watched.turns.connected(1);
            watched.is_due |= watched.turns.queued() > 0;
        }
    }

    /// A call was read.
    ///
    /// # Errors
    ///
    /// That there is no such door or segment, which is a defect.
    pub fn offer(&mut self, client: usize, priority: f64, now: f64, idle: f64) -> Result<Entry, Error> {
        let at = Nanos::from_ms(now);
        match self {
            Self::Turns(watched) => {
                let offer = Offer { door: watched.door, level: level(priority), patience_ms: f64::INFINITY };
                let unwatched = (!watched.is_due).then_some(watched.tells_idle.then_some(idle));
                watched.is_due = true;
                Ok(match watched.turns.offer(offer, unwatched, at).ok_or(Error::UnknownDoor)? {
                    Offered::Start(key) => Entry::Start(key),
                    Offered::Wait(key) => Entry::Wait(key),
                    Offered::Refuse(_) => Entry::Refuse,
                })
            }
            Self::Limiters(engine, segments) => {
                engine.at(at, Driver::Wheel);
                Ok(match engine.enter(segments[client], Some(priority))? {
                    segment::Entry::Running(ticket) => Entry::Start(ticket),
                    segment::Entry::Waiting(ticket) => Entry::Wait(ticket),
                    segment::Entry::Refused(_) => Entry::Refuse,
                })
            }
        }
    }

    /// A call has ended, or its client has left; the first byte of its answer has left, for the protection of the
    /// loop.
    ///
    /// # Errors
    ///
    /// As [`Engine::exit`].
    pub fn end(&mut self, key: Key, outcome: Outcome, operation: Option<u8>, now: f64) -> Result<(), Error> {
        let at = Nanos::from_ms(now);
        match self {
            Self::Turns(watched) => match watched.turns.end(key, at) {
                Ended::Nothing => {}
                Ended::Check => watched.is_due = true,
                Ended::Start => {
                    watched.is_due = true;
                    watched.allowed += 1;
                }
            },
            Self::Limiters(engine, _) => {
                engine.at(at, Driver::Wheel);
                let outcomes = Outcomes::all(outcome);
                engine.exit(key, operation.map_or(outcomes, |number| outcomes.with_operation(number)))?;
            }
        }
        Ok(())
    }

    /// The first byte of an answer that goes on has left.
    pub fn answer_begins(&mut self, key: Key, now: f64) {
        if matches!(self, Self::Turns(_)) {
            // Only a limiter can refuse that.
            let _ = self.end(key, Outcome::Success, None, now);
        }
    }

    /// What has happened to calls that were here before: asked for until there is nothing, after all jobs of a
    /// callback.
    pub fn next_fate(&mut self, now: f64, limit: &mut u32) -> Option<Fate> {
        match self {
            Self::Turns(watched) => {
                *limit = whole(watched.turns.limit());
                if let Some((key, _)) = watched.turns.take_refused() {
                    return Some(Fate::Refuse(key));
                }
                while watched.allowed > 0 {
                    watched.allowed -= 1;
                    if let Some(key) = watched.turns.acknowledge(Nanos::from_ms(now)) {
                        return Some(Fate::Start(key));
                    }
                }
                None
            }
            Self::Limiters(engine, _) => loop {
                match engine.effects().pop_front()? {
                    Effect::Admitted { ticket } => return Some(Fate::Start(ticket)),
                    Effect::Rejected { ticket, .. } => return Some(Fate::Refuse(ticket)),
                    Effect::TimedOut { ticket, .. } => return Some(Fate::TimeOut(ticket)),
                    Effect::LimitChanged { old, new, .. } => *limit = *limit + new - old,
                    // Limiters and deadlines only, algorithms in the core, and the wheel drives.
                    _ => {}
                }
            },
        }
    }

    /// When a timer is due; infinite for never.
    pub fn next_timer(&mut self) -> f64 {
        match self {
            Self::Turns(watched) => watched.wake_at,
            #[expect(clippy::cast_precision_loss, reason = "a run lasts less than 2^53 milliseconds")]
            Self::Limiters(engine, _) => engine.next_tick().map_or(f64::INFINITY, |tick| tick as f64),
        }
    }

    /// The timers phase.
    pub fn fire_timers(&mut self, now: f64) {
        match self {
            Self::Turns(watched) => {
                if watched.wake_at <= now {
                    watched.wake_at = f64::INFINITY;
                    watched.is_due = true;
                }
            }
            Self::Limiters(engine, _) => {
                engine.at(Nanos::from_ms(now), Driver::Wheel);
                engine.tick();
            }
        }
    }

    /// Whether a callback is due in the check phase, so that the loop must not sleep.
    #[must_use]
    pub fn is_due(&self) -> bool {
        matches!(self, Self::Turns(watched) if watched.is_due)
    }

    /// The check phase; true if calls are to be started by [`Gate::next_start`].
    pub fn check(&mut self, now: f64, idle: f64) -> bool {
        let Self::Turns(watched) = self else { return false };
        if !std::mem::take(&mut watched.is_due) {
            return false;
        }
        let turn = watched.turns.turn(watched.tells_idle.then_some(idle), Nanos::from_ms(now));
        match turn {
            Turn::Off => watched.wake_at = f64::INFINITY,
            Turn::Sleep(ms) => watched.wake_at = now + ms,
            Turn::Again | Turn::Work => watched.is_due = true,
        }
        turn == Turn::Work
    }

    /// The next call of a slice.
    pub fn next_start(&mut self, now: f64) -> Option<Key> {
        let Self::Turns(watched) = self else { return None };
        watched.turns.next(Nanos::from_ms(now))
    }

    /// Calls that have not ended, as the gate knows.
    #[must_use]
    pub fn open(&self) -> usize {
        match self {
            Self::Turns(watched) => watched.turns.open(),
            Self::Limiters(engine, _) => engine.open(),
        }
    }
}

/// A limit as it is told: 0 for none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, and saturating")]
const fn whole(limit: f64) -> u32 {
    if limit.is_finite() { limit as u32 } else { 0 }
}
