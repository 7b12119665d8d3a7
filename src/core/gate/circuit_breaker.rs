//! The circuit breaker: refuses executions for a while after too many have failed, then lets a few try.
//!
//! | state     | lets in                      | leaves when                                   | to                |
//! | --------- | ---------------------------- | --------------------------------------------- | ----------------- |
//! | closed    | all                          | a trigger is met                              | open              |
//! | open      | none                         | the break has passed, and an execution comes  | half-open         |
//! | half-open | a round of probes            | `half_open_probes` of them have succeeded     | closed            |
//! |           |                              | one has failed, or was slow                   | open              |
//! | isolated  | none                         | it is closed by hand                          | closed            |
//!
//! Any state leaves to isolated, and to closed, by hand.
//!
//! Every change of state, and every round of probes, begins an *epoch*. An execution carries the epoch in which
//! it was let in, and says nothing about a state that began later. Of a round of probes as many run at once as
//! successes are still wanted. A probe that was cancelled, or failed in a way that the breaker does not watch
//! for, gives its place back to its round; when probes hang for as long as a break, a next round begins. So the
//! breaker can always probe.
//!
//! M. T. Nygard, "Release It!", 2007, introduced the pattern.

mod health;

use health::{Counts, Health};

use crate::core::clock::Nanos;
use crate::core::outcome::Outcome;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Opens at this share of failures, in (0, 1].
    pub failure_ratio: f64,
    /// Opens at this share of slow calls, in (0, 1].
    pub slow_call_ratio: f64,
    /// From this many milliseconds on a call is slow; infinite for never.
    pub slow_call_ms: f64,
    /// Neither share counts with fewer calls than this.
    pub minimum_throughput: u32,
    /// Opens at this many failures in a row; zero for never.
    pub consecutive_failures: u32,
    /// Over how many milliseconds the shares are taken.
    pub sampling_ms: f64,
    /// How many milliseconds it stays open.
    pub break_ms: f64,
    /// How many executions have to succeed to close it again, at least one.
    pub half_open_probes: u32,
}

/// The state as users see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Lets everything pass.
    Closed,
    /// Lets nothing pass until the break is over.
    Open,
    /// Lets probes pass.
    HalfOpen,
    /// Lets nothing pass until it is closed by hand.
    Isolated,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed,
    Open {
        since: Nanos,
        until: Nanos,
    },
    HalfOpen {
        /// The epoch in which it began.
        first_epoch: u64,
        /// Successes that are still wanted.
        wanted: u32,
        /// Probes of the present round that have not ended.
        running: u32,
        /// When the next round begins, should this one hang.
        next_round: Nanos,
    },
    Isolated,
}

/// The answer to an execution that wants in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passage {
    /// It may run.
    Open {
        /// What its end has to be told with.
        epoch: u64,
        /// Whether it is the first probe.
        half_opened: bool,
    },
    /// The circuit is open, or its probes are under way.
    Broken {
        /// Milliseconds until the next probe is let in.
        retry_after_ms: f64,
    },
    /// The circuit is isolated.
    Isolated,
}

/// A change of state that an execution brought about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The circuit opened.
    Opened(Opening),
    /// The circuit closed.
    Closed,
}

/// How the circuit opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening {
    /// Names this opening to [`CircuitBreaker::set_break`].
    pub epoch: u64,
    /// How many milliseconds it stays open.
    pub break_ms: f64,
    /// The share of failures that opened it.
    pub failure_rate: f64,
    /// Their number.
    pub failures: u32,
    /// How often it opened from half-open since it was last closed.
    pub half_open_attempts: u32,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct CircuitBreaker {
    settings: Settings,
    state: State,
    epoch: u64,
    health: Health,
    failures_in_a_row: u32,
    half_open_attempts: u32,
    /// The length of the present or the last break.
    break_ms: f64,
}

impl CircuitBreaker {
    /// A closed circuit.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Closed,
            epoch: 0,
            health: Health::new(settings.sampling_ms),
            failures_in_a_row: 0,
            half_open_attempts: 0,
            break_ms: settings.break_ms,
        }
    }

    /// The state at `now`. After its break an open circuit is half-open, whether anyone comes or not.
    #[must_use]
    pub fn circuit(&self, now: Nanos) -> Circuit {
        match self.state {
            State::Closed => Circuit::Closed,
            State::Open { .. } if self.break_remaining_ms(now) > 0.0 => Circuit::Open,
            State::Open { .. } | State::HalfOpen { .. } => Circuit::HalfOpen,
            State::Isolated => Circuit::Isolated,
        }
    }

    /// Milliseconds that are left of the break; zero unless it is open.
    #[must_use]
    pub fn break_remaining_ms(&self, now: Nanos) -> f64 {
        match self.state {
            State::Open { since, until } => until.ms_since(since.max(now)),
            _ => 0.0,
        }
    }

    /// Whether a call can be slow.
    #[must_use]
    pub const fn watches_latency(&self) -> bool {
        self.settings.slow_call_ms < f64::INFINITY
    }

    /// The present epoch, if all may pass and their latency does not matter.
    #[must_use]
    pub const fn closed_epoch(&self) -> Option<u64> {
        match self.state {
            State::Closed if !self.watches_latency() => Some(self.epoch),
            _ => None,
        }
    }

    /// Asks to let an execution in.
    pub fn enter(&mut self, now: Nanos) -> Passage {
        let mut half_opened = false;
        match self.state {
            State::Closed => return Passage::Open { epoch: self.epoch, half_opened },
            State::Isolated => return Passage::Isolated,
            State::Open { since, .. } => {
                let retry_after_ms = self.break_remaining_ms(now);
                if now < since {
                    // The clock went back: nobody is locked out for longer than a break.
                    self.state = State::Open { since: now, until: now.plus_ms(retry_after_ms) };
                }
                if retry_after_ms > 0.0 {
                    return Passage::Broken { retry_after_ms };
                }
                half_opened = true;
                self.epoch += 1;
                let wanted = self.settings.half_open_probes;
                self.state = State::HalfOpen { first_epoch: self.epoch, wanted, running: 0, next_round: now };
            }
            State::HalfOpen { .. } => {}
        }
        let State::HalfOpen { wanted, running, next_round, .. } = &mut self.state else {
            return Passage::Isolated;
        };
        let longest = now.plus_ms(self.break_ms);
        *next_round = longest.min(*next_round);
        if *running >= *wanted {
            if now < *next_round {
                return Passage::Broken { retry_after_ms: next_round.ms_since(now) };
            }
            self.epoch += 1;
            *running = 0;
        }
        *running += 1;
        *next_round = longest;
        Passage::Open { epoch: self.epoch, half_opened }
    }

    /// Learns that an execution, let in at `since` in `epoch`, ended at `now`; its latency is up to `answered`.
    pub fn leave(
        &mut self,
        epoch: u64,
        (since, answered, now): (Nanos, Nanos, Nanos),
        outcome: Outcome,
    ) -> Option<Change> {
        let slow = answered.ms_since(since) >= self.settings.slow_call_ms;
        match &mut self.state {
            State::Closed if epoch == self.epoch && outcome != Outcome::NoSample => {
                self.count(now, outcome == Outcome::Drop, slow)
            }
            State::HalfOpen { first_epoch, wanted, running, .. } if epoch >= *first_epoch => {
                *running -= u32::from(epoch == self.epoch);
                match outcome {
                    Outcome::Drop => Some(self.reopen(now)),
                    Outcome::Success | Outcome::Unhandled if slow => Some(self.reopen(now)),
                    Outcome::Success => {
                        *wanted -= 1;
                        (*wanted == 0 && self.close()).then_some(Change::Closed)
                    }
                    Outcome::NoSample | Outcome::Unhandled => None,
                }
            }
            _ => None,
        }
    }

    /// Counts a call of the closed circuit.
    fn count(&mut self, now: Nanos, failed: bool, slow: bool) -> Option<Change> {
        let Settings { failure_ratio, slow_call_ratio, minimum_throughput, consecutive_failures, .. } =
            self.settings;
        let counts = self.health.record(now, failed, slow);
        self.failures_in_a_row = if failed { self.failures_in_a_row.saturating_add(1) } else { 0 };
        let enough = counts.calls >= minimum_throughput;
        let met = enough && (counts.failures > 0 && counts.failure_rate() >= failure_ratio)
            || enough && (counts.slow > 0 && counts.slow_rate() >= slow_call_ratio)
            || consecutive_failures > 0 && self.failures_in_a_row >= consecutive_failures;
        met.then(|| self.open(now, counts))
    }

    fn reopen(&mut self, now: Nanos) -> Change {
        self.half_open_attempts = self.half_open_attempts.saturating_add(1);
        self.open(now, Counts { calls: 1, failures: 1, slow: 0 })
    }

    fn open(&mut self, now: Nanos, counts: Counts) -> Change {
        self.epoch += 1;
        self.break_ms = self.settings.break_ms;
        self.state = State::Open { since: now, until: now.plus_ms(self.break_ms) };
        self.health.clear();
        self.failures_in_a_row = 0;
        Change::Opened(Opening {
            epoch: self.epoch,
            break_ms: self.break_ms,
            failure_rate: counts.failure_rate(),
            failures: counts.failures,
            half_open_attempts: self.half_open_attempts,
        })
    }

    /// Changes the length of the break that began with `epoch`, if it still lasts.
    pub const fn set_break(&mut self, epoch: u64, break_ms: f64) {
        if let State::Open { since, until } = &mut self.state
            && epoch == self.epoch
        {
            self.break_ms = break_ms;
            *until = since.plus_ms(break_ms);
        }
    }

    /// Lets nothing pass from now on; false if that is so already.
    pub const fn isolate(&mut self) -> bool {
        if matches!(self.state, State::Isolated) {
            return false;
        }
        self.epoch += 1;
        self.state = State::Isolated;
        true
    }

    /// Lets everything pass from now on; false if that is so already.
    pub fn close(&mut self) -> bool {
        if matches!(self.state, State::Closed) {
            return false;
        }
        self.epoch += 1;
        self.state = State::Closed;
        self.health.clear();
        self.failures_in_a_row = 0;
        self.half_open_attempts = 0;
        true
    }

    /// Takes over a state from elsewhere: an open circuit has `break_ms` of its break left, a half-open one none.
    pub fn restore(&mut self, circuit: Circuit, break_ms: f64, now: Nanos) {
        self.close();
        match circuit {
            Circuit::Closed => {}
            Circuit::Isolated => {
                self.isolate();
            }
            Circuit::Open | Circuit::HalfOpen => {
                self.epoch += 1;
                self.break_ms = self.settings.break_ms;
                let left_ms = if circuit == Circuit::Open { break_ms } else { 0.0 };
                self.state = State::Open { since: now, until: now.plus_ms(left_ms) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
