//! Requests that have started and not ended: how many there may be, and how quickly the next may start.
//!
//! A handler that awaits something first and computes then costs nothing when it starts; what it costs comes later,
//! in the poll phase, as a continuation that no queue of ours sees. So the number in flight has a limit, after
//! J. D. C. Little, "A Proof for the Queuing Formula: L = λW" (1961): with a full loop, in flight = (latency +
//! queue) / cost, and moving the limit by x / cost moves the queue of continuations by x milliseconds. A wrong cost
//! changes how fast that converges, not where. Starts are spaced by a token bucket, because those that start
//! together become ready together.

use super::SLICE_MS;
use super::cost::Cost;
use super::round::{Round, Told};
use crate::core::clock::Nanos;

/// How long a continuation may wait for the loop, besides two requests' cost.
const WAIT_MS: f64 = 20.0;
/// The tokens saved up at most, as milliseconds of the loop.
const BURST_MS: f64 = 25.0;
/// How long the accept queue may be seen not empty before that counts as a queue.
const DOOR_MS: f64 = 25.0;
/// How much of the door's lateness counts as lateness of the loop.
const DOOR_SHARE: f64 = 0.4;
/// Of a round's lateness, how much the limit is lowered by, and of its waste, how much quicker starts follow.
const GAIN: f64 = 0.25;
/// How much slower starts follow each other after a round as late as it was long.
const SLOWER: f64 = 0.1;
/// The limits of the rate of starts, as a share of one a request's cost.
const SLOWEST: f64 = 0.5;
const QUICKEST: f64 = 1.5;
/// The weight of one request in the mean latency.
const WEIGHT: f64 = 1.0 / 64.0;

/// The requests in flight, and what the loop's turns say of them.
#[derive(Clone, Debug)]
pub struct Flights {
    count: u32,
    /// Infinite until the loop was late for the first time.
    limit: f64,
    rate: f64,
    tokens: f64,
    tokens_at: Nanos,
    cost: Cost,
    /// From a request's start to its end, while the loop has no queue.
    latency_ms: f64,
    round: Round,
    /// The end of the last check phase that we saw, and how long the loop had slept until then.
    checked_at: Nanos,
    idle_ms: f64,
    /// Connections since the last check phase, and whether there were some before that.
    connections: u32,
    door_is_busy: bool,
    /// When the accept queue was last known to be empty.
    door_at: Nanos,
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            count: 0,
            limit: f64::INFINITY,
            rate: 1.0,
            tokens: 1.0,
            tokens_at: Nanos::default(),
            cost: Cost::default(),
            latency_ms: 0.0,
            round: Round::default(),
            checked_at: Nanos::default(),
            idle_ms: 0.0,
            connections: 0,
            door_is_busy: false,
            door_at: Nanos::default(),
        }
    }
}

impl Flights {
    /// How many are in flight.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How many may be; infinite as long as there is no reason for a limit.
    #[must_use]
    pub const fn limit(&self) -> f64 {
        self.limit
    }

    /// The loop's time for a request in all, in milliseconds.
    #[must_use]
    pub fn cost_ms(&self) -> f64 {
        self.cost.get()
    }

    /// Whether as many are in flight as may be.
    #[must_use]
    pub fn is_full(&self) -> bool {
        f64::from(self.count) >= self.limit
    }

    /// Whether another may start: what is under way is less than a slice's work, or limit and rate allow it. One
    /// whose work is done when it has started is never in flight here.
    pub fn may_start(&mut self, now: Nanos) -> bool {
        let cost = self.cost.get();
        if cost <= 0.0 {
            return true;
        }
        let most = (BURST_MS / cost).max(1.0);
        self.tokens = (self.tokens + now.ms_since(self.tokens_at) * self.rate / cost).min(most);
        self.tokens_at = now;
        !self.is_loaded() || (!self.is_full() && self.tokens >= 1.0)
    }

    /// Whether what is under way is a slice's work at least.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        f64::from(self.count) * self.cost.get() >= SLICE_MS
    }

    /// In how many milliseconds the next may start, if no other ends before: there is a token then, or the limit has
    /// grown by what the loop has slept.
    #[must_use]
    pub fn next_in_ms(&self) -> f64 {
        let cost = self.cost.get();
        if self.is_full() {
            return (f64::from(self.count) - self.limit + 1.0) * cost;
        }
        let token = if self.limit.is_finite() { cost / self.rate } else { (cost / self.rate).min(WAIT_MS) };
        (1.0 - self.tokens).max(0.0) * token
    }

    /// One starts.
    pub fn start(&mut self) {
        self.tokens = (self.tokens - 1.0).max(0.0);
        self.count += 1;
        self.cost.started();
    }

    /// One that started at `started` has ended, or the first byte of its answer has left: what comes after that,
    /// an event stream say, costs little and may last for ever.
    pub fn end(&mut self, started: Nanos, now: Nanos) {
        self.count = self.count.saturating_sub(1);
        self.cost.ended();
        // One that may have waited for the loop long does not tell how long its own I/O takes.
        if now.ms_since(self.checked_at) < WAIT_MS.max(2.0 * self.cost.get()) {
            let took = now.ms_since(started);
            let weight = if self.latency_ms > 0.0 { WEIGHT } else { 1.0 };
            self.latency_ms += (took - self.latency_ms) * weight;
        }
    }

    /// One that started is forgotten as if it had not.
    pub const fn undo(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// So many connections came.
    pub const fn connected(&mut self, number: u32) {
        self.connections = self.connections.saturating_add(number);
    }

    /// Whether ends of requests may start others: not while the accept queue needs the loop's turns.
    #[must_use]
    pub fn is_ack_clocked(&self, now: Nanos) -> bool {
        self.limit.is_finite() && !(self.door_is_busy && now.ms_since(self.door_at) >= DOOR_MS)
    }

    /// Whether connections came before the last check phase, so that more may be there.
    #[must_use]
    pub const fn door_is_busy(&self) -> bool {
        self.door_is_busy
    }

    /// The loop has slept, and the first request since then is here. Nobody waits: what the loop did until now is no
    /// part of one turn.
    pub fn wake(&mut self, now: Nanos, idle_ms: f64) {
        self.checked_at = now;
        self.idle_ms = idle_ms;
        if self.count == 0 {
            self.cost.skip(now, idle_ms);
        }
    }

    /// The check phase: learns from the turn before it. `waits` tells whether somebody waits, `blocked` whether that
    /// was for the limit.
    pub fn check(&mut self, now: Nanos, idle_ms: f64, waits: bool, blocked: bool) {
        let slept = (idle_ms - self.idle_ms).max(0.0);
        let poll = (now.ms_since(self.checked_at) - slept).max(0.0);
        self.cost.look(now, idle_ms);
        if slept > 0.0 || self.connections == 0 {
            self.door_at = now;
        }
        self.door_is_busy = self.connections > 0;
        self.connections = 0;
        self.round.turn(poll);
        let cost = self.cost.get();
        if slept > 0.0 && waits {
            self.round.waste(slept);
            if blocked && cost > 0.0 {
                self.limit += slept / cost;
            }
            // However much a request is believed to cost, nobody waits long for a loop that sleeps and was never late.
            if !self.limit.is_finite() && cost > WAIT_MS {
                self.tokens += slept / WAIT_MS;
            }
        }
        if let Some(told) = self.round.end(now, self.latency_ms) {
            self.adapt(told, now);
        }
        self.checked_at = now;
        self.idle_ms = idle_ms;
    }

    /// The end of a slice: the next turn begins.
    pub const fn checked(&mut self, now: Nanos) {
        self.checked_at = now;
    }

    fn adapt(&mut self, Told { length_ms, wait_ms, wasted_ms }: Told, now: Nanos) {
        let cost = self.cost.get();
        let target = WAIT_MS + 2.0 * cost;
        let door = DOOR_SHARE * (now.ms_since(self.door_at) - DOOR_MS - target);
        let late = (wait_ms - target).max(door);
        if late <= 0.0 {
            self.rate = (self.rate + GAIN * wasted_ms / length_ms).min(QUICKEST);
            return;
        }
        self.rate = (self.rate - (SLOWER * late / length_ms).min(SLOWER)).max(SLOWEST);
        if self.latency_ms <= 0.0 || cost <= 0.0 {
            return;
        }
        let limit = if self.limit.is_finite() {
            self.limit - (GAIN * late / cost).min(self.limit / 2.0)
        } else {
            (self.latency_ms + WAIT_MS) / cost
        };
        self.limit = limit.max(1.0);
    }
}
