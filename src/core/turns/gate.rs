//! The gate itself: what is asked of it in a turn of the loop.

mod inspect;

use super::SLICE_MS;
use super::answers::{Ended, Offer, Offered, Turn};
use super::demand::Demand;
use super::door::Door;
use super::flights::Flights;
use super::idle::{Gap, Idle};
use super::processor::Processor;
use super::slices::Slices;
use super::waiters::{Left, Waiters};
use crate::core::clock::Nanos;
use crate::core::effect::Reason;
use crate::core::slab::{Key, Slab};

/// Up to this load what waits is a burst, or the rest of a pause, and may wait for long.
const CALM: f64 = 1.0;
/// From this load on what waits is a standing queue. Between the two the budget is linear: a switch would refuse by
/// noise.
const FULL: f64 = 1.15;
/// The least share of the loop that is left for a level, for predictions.
const LEAST_SHARE: f64 = 0.01;

/// The gate of one JavaScript thread, for all adapters in it.
///
/// # Examples
///
/// ```
/// use resilience::core::clock::Nanos;
/// use resilience::core::turns::answers::{Ended, Offer, Offered, Turn};
/// use resilience::core::turns::gate::Turns;
///
/// let at = Nanos::from_ms;
/// let mut turns = Turns::default();
/// let door = turns.add_door(100.0, 500.0);
/// let request = Offer { door, level: 0, patience_ms: f64::INFINITY };
///
/// // The loop has slept for 10 ms: nothing waits anywhere. The handler computes for 8 ms.
/// let Some(Offered::Start(first)) = turns.offer(request, Some(Some(10.0)), at(10.0)) else { panic!("it starts") };
/// assert_eq!(turns.end(first, at(18.0)), Ended::Nothing);
/// // This one was read after that, in the same turn. It starts in the check phase.
/// let Some(Offered::Wait(second)) = turns.offer(request, None, at(18.1)) else { panic!("it waits") };
/// assert_eq!(turns.turn(Some(10.0), at(18.2)), Turn::Work);
/// assert_eq!(turns.next(at(18.2)), Some(second));
/// assert_eq!(turns.end(second, at(26.2)), Ended::Nothing);
/// assert_eq!(turns.next(at(26.2)), None);
/// assert_eq!(turns.turn(Some(10.0), at(26.3)), Turn::Off);
/// ```
#[derive(Debug, Default)]
pub struct Turns {
    doors: Slab<Door>,
    waiters: Waiters,
    demand: Demand,
    flights: Flights,
    idle: Idle,
    processor: Processor,
    /// Requests and connections since the last check phase that did not wait for them.
    came: u32,
    /// Whether anything happened since the last check phase.
    stirred: bool,
    /// The idle time at the last look; none before the first.
    idle_ms: Option<f64>,
    /// When the loop last slept; `None` if it has worked in a slice since.
    busy_since: Option<Nanos>,
    slices: Slices,
    /// Whether somebody waits because as many are in flight as may be.
    blocked: bool,
    /// Whom the last call started, and whether it had waited.
    newcomer: Option<(Key, bool)>,
}

impl Turns {
    /// Adds an adapter. `target_ms` is at most `max_ms`.
    pub fn add_door(&mut self, target_ms: f64, max_ms: f64) -> Key {
        self.heard();
        self.doors.insert(Door::new(target_ms, max_ms))
    }

    /// Turns all away that wait at a door: its adapter is disposed.
    pub fn close(&mut self, door: Key, now: Nanos) {
        self.heard();
        let number = self.waiters.close(door) as u64;
        self.refuse(door, Reason::Disposed, number, now);
    }

    /// Closes a door and forgets it: its adapter was collected.
    pub fn remove_door(&mut self, door: Key, now: Nanos) {
        self.close(door, now);
        self.doors.remove(door);
    }

    /// So many connections came.
    pub const fn connected(&mut self, number: u32) {
        self.came = self.came.saturating_add(number);
        self.stirred |= number > 0;
        self.flights.connected(number);
    }

    /// A request is here. `unwatched` is given if no check phase was wanted when it came: the loop's idle time, if the
    /// runtime tells it. `None` for an unknown door.
    pub fn offer(&mut self, offer: Offer, unwatched: Option<Option<f64>>, now: Nanos) -> Option<Offered> {
        let Offer { door, level, patience_ms } = offer;
        let (target_ms, max_ms) = self.doors.get(door).map(|door| (door.target_ms, door.max_ms))?;
        self.heard();
        self.came = self.came.saturating_add(1);
        self.stirred = true;
        self.demand.count(level, (self.each_ms(), self.slices.lasted_ms()), now);
        if let Some(idle_ms) = unwatched {
            self.wake(idle_ms, now);
        }
        if self.waiters.is_empty() && (self.is_fresh(now) || self.is_calm()) && self.flights.may_start(now) {
            return Some(Offered::Start(self.start_at_once(door, now)));
        }
        let pace_ms = self.slices.predicted_pace_ms();
        let ahead_ms = count(self.waiters.ahead(level)) * pace_ms;
        let budget_ms = self.budget(target_ms, max_ms);
        let share = 1.0 - self.demand.above(level) * pace_ms;
        let predicted_ms = ahead_ms / share.max(LEAST_SHARE);
        let is_full =
            if ahead_ms > 0.0 { ahead_ms > budget_ms * share || predicted_ms > patience_ms } else { share <= 0.0 };
        if is_full {
            self.refuse(door, Reason::Full, 1, now);
            return Some(Offered::Refuse(predicted_ms));
        }
        let key = self.waiters.push(door, level, now.plus_ms(max_ms.min(patience_ms)));
        self.newcomer = Some((key, false));
        let is_too_long = |waiting: usize| count(waiting) * pace_ms > budget_ms;
        while is_too_long(self.waiters.len()) {
            let Some(door) = self.waiters.evict(level) else { break };
            self.refuse(door, Reason::Dropped, 1, now);
        }
        Some(Offered::Wait(key))
    }

    /// The check phase. `idle_ms` is how long the loop has slept in all, if the runtime tells.
    pub fn turn(&mut self, idle_ms: Option<f64>, now: Nanos) -> Turn {
        self.heard();
        self.end_slice(now);
        self.look(idle_ms, now);
        self.expire(now);
        let came = std::mem::take(&mut self.came);
        if self.waiters.is_empty() {
            // The requests of connections that were accepted in this turn are read in the next.
            if came == 0 {
                self.slices.rest();
            }
            self.blocked = false;
            return Turn::Off;
        }
        if !self.flights.may_start(now) {
            return self.hold(idle_ms.is_some(), now);
        }
        self.blocked = false;
        if came > 0 && self.slices.door_is_first(self.busy_since, now) {
            return Turn::Again;
        }
        self.slices.begin(now);
        Turn::Work
    }

    /// The next request of a slice to start; `None` when the slice is over: a check phase is wanted then.
    pub fn next(&mut self, now: Nanos) -> Option<Key> {
        self.heard();
        self.expire(now);
        let may_start = self.slices.has_time(now) && self.flights.may_start(now);
        let next = if may_start { self.waiters.pop(now) } else { None };
        let Some((key, door)) = next else {
            self.end_slice(now);
            return None;
        };
        self.slices.start();
        self.start(key, door);
        Some(key)
    }

    /// A request has ended, or the first byte of its answer has left, or its client has gone; whatever comes first
    /// counts. One that waits is forgotten.
    pub fn end(&mut self, key: Key, now: Nanos) -> Ended {
        self.heard();
        self.stirred = true;
        if let Left::Started(at) = self.waiters.remove(key) {
            self.flights.end(at, now);
        } else {
            return Ended::Nothing;
        }
        if self.slices.is_under_way() || self.waiters.is_empty() {
            Ended::Nothing
        } else if self.flights.is_ack_clocked(now) && self.flights.may_start(now) {
            Ended::Start
        } else {
            Ended::Check
        }
    }

    /// Starts one in the place of another that has ended.
    pub fn acknowledge(&mut self, now: Nanos) -> Option<Key> {
        self.heard();
        if self.slices.is_under_way() || !self.flights.may_start(now) {
            return None;
        }
        self.expire(now);
        let (key, door) = self.waiters.pop(now)?;
        self.slices.acknowledge();
        self.start(key, door);
        Some(key)
    }

    /// The next request that was turned away after it had waited, and why.
    pub fn take_refused(&mut self) -> Option<(Key, Reason)> {
        self.heard();
        self.waiters.take_refused()
    }

    /// The answer of the last call reaches nobody: whom it let in is forgotten, whom it started is turned away.
    pub fn undo(&mut self) {
        self.waiters.tell_again();
        let Some((key, had_waited)) = self.newcomer.take() else { return };
        if had_waited {
            self.flights.undo();
            self.waiters.take_back(key);
        } else if let Left::Started(_) = self.waiters.remove(key) {
            self.flights.undo();
        }
    }

    /// The answer of the last call was heard: there is nothing to undo. Every call begins by this.
    pub fn heard(&mut self) {
        self.newcomer = None;
        self.waiters.forget_told();
    }

    /// Whether the loop has slept so lately that nothing waited anywhere.
    fn is_fresh(&self, now: Nanos) -> bool {
        self.busy_since.is_some_and(|since| now.ms_since(since) < SLICE_MS)
    }

    /// Whether the loop catches up with a burst or a pause, and handlers wait more than they compute: then a start
    /// costs little, and the sooner it is, the less the loop will sleep.
    fn is_calm(&self) -> bool {
        self.flights.is_loaded() && self.pressure() <= 0.0
    }

    /// A request came while no check phase was wanted.
    fn wake(&mut self, idle_ms: Option<f64>, now: Nanos) {
        let idle_ms = self.idle.read(idle_ms, now, Gap::NoCallback);
        if self.has_slept(idle_ms, now) && self.waiters.is_empty() {
            self.flights.wake(now, idle_ms);
        }
    }

    fn has_slept(&mut self, idle_ms: f64, now: Nanos) -> bool {
        let slept = self.idle_ms.is_none_or(|seen| idle_ms > seen);
        if slept {
            self.idle_ms = Some(idle_ms);
            self.busy_since = Some(now);
            if self.waiters.is_empty() {
                self.slices.rest();
            }
        }
        slept
    }

    fn look(&mut self, idle_ms: Option<f64>, now: Nanos) {
        let gap = if std::mem::take(&mut self.stirred) { Gap::Busy } else { Gap::Empty };
        let idle_ms = self.idle.read(idle_ms, now, gap);
        self.has_slept(idle_ms, now);
        self.flights.check(now, idle_ms, !self.waiters.is_empty(), self.blocked);
        self.slices.check(now);
    }

    fn start_at_once(&mut self, door: Key, now: Nanos) -> Key {
        self.slices.start_directly(now);
        let key = self.waiters.start(door, now);
        self.start(key, door);
        self.newcomer = Some((key, false));
        key
    }

    fn start(&mut self, key: Key, door: Key) {
        self.flights.start();
        self.newcomer = Some((key, true));
        if let Some(door) = self.doors.get_mut(door) {
            door.start();
        }
    }

    fn refuse(&mut self, door: Key, reason: Reason, number: u64, now: Nanos) {
        if let Some(door) = self.doors.get_mut(door) {
            door.refuse(reason, number, now);
        }
    }

    fn expire(&mut self, now: Nanos) {
        while let Some(door) = self.waiters.expire(now) {
            self.refuse(door, Reason::QueueTimeout, 1, now);
        }
    }

    /// As much is under way as the loop can bear. `tells_idle` is whether the runtime tells how long the loop sleeps:
    /// without that the loop is kept turning, to see.
    fn hold(&mut self, tells_idle: bool, now: Nanos) -> Turn {
        self.blocked = self.flights.is_full();
        self.slices.hold(now);
        if self.flights.door_is_busy() || !tells_idle {
            return Turn::Again;
        }
        let expires_ms = self.waiters.next_expiry().map_or(f64::INFINITY, |expiry| expiry.ms_since(now));
        Turn::Sleep(self.flights.next_in_ms().min(expires_ms).ceil().max(1.0))
    }

    fn end_slice(&mut self, now: Nanos) {
        if self.slices.is_under_way() {
            self.slices.end(now);
            self.busy_since = None;
            self.flights.checked(now);
        }
    }

    fn budget(&self, target_ms: f64, max_ms: f64) -> f64 {
        max_ms - (max_ms - target_ms) * self.pressure()
    }

    /// How much of what waits is a standing queue, from 0 to 1.
    fn pressure(&self) -> f64 {
        let load = self.demand.steady() * self.each_ms();
        ((load - CALM) / (FULL - CALM)).clamp(0.0, 1.0)
    }

    /// The loop's time for each request: of those that compute later, no more than they cost.
    fn each_ms(&self) -> f64 {
        let pace = self.slices.pace_ms();
        if self.flights.count() > 0 { pace.min(self.flights.cost_ms()) } else { pace }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of things in memory")]
const fn count(number: usize) -> f64 {
    number as f64
}
