//! The breaker and its model, side by side.

use proptest::prelude::*;
use resilience::core::clock::Nanos;
use resilience::core::gate::circuit_breaker::{Change, Circuit, CircuitBreaker, Opening, Passage, Settings};
use resilience::core::outcome::Outcome;

use crate::model::{Done, Model, Opened, Told};

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Someone wants in.
    Enter,
    /// The same, and someone refused comes back when told.
    Insist,
    /// One of those that are in leaves; whether the first byte of its answer left at once.
    Leave {
        choice: usize,
        outcome: Outcome,
        early: bool,
    },
    /// This many milliseconds go by.
    Pass(f64),
    /// The clock goes back by this many.
    GoBack(f64),
    /// One of the openings, chosen, gets a break of another length.
    SetBreak(usize, f64),
    Isolate,
    Close,
    Restore(Circuit, f64),
}

/// An execution that is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    call: usize,
    epoch: u64,
    since: Nanos,
}

pub type Checked<T = ()> = Result<T, TestCaseError>;

pub struct Pair {
    settings: Settings,
    breaker: CircuitBreaker,
    model: Model,
    now_ms: f64,
    open: Vec<Open>,
    /// The epoch of each opening, and the model's name for it.
    openings: Vec<(u64, usize)>,
    /// Whether it has opened and let nobody in since.
    shut: bool,
}

impl Pair {
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            breaker: CircuitBreaker::new(settings),
            model: Model::new(settings),
            now_ms: 60_000.0,
            open: Vec::new(),
            openings: Vec::new(),
            shut: false,
        }
    }

    const fn now(&self) -> Nanos {
        Nanos::from_ms(self.now_ms)
    }

    /// Asks to be let in; gives the milliseconds to wait if that is refused for a while.
    fn enter(&mut self) -> Checked<Option<f64>> {
        let now = self.now();
        let half_open = self.model.circuit(now) == Circuit::HalfOpen;
        let longest_ms = self.model.longest_wait_ms();
        let told = self.model.enter(now);
        match self.breaker.enter(now) {
            Passage::Open { epoch, half_opened } => {
                let Told::In(call, first) = told else {
                    return Err(TestCaseError::fail(format!("in, not {told:?}")));
                };
                prop_assert_eq!(half_opened, first);
                self.open.push(Open { call, epoch, since: now });
                self.shut = false;
                if half_open {
                    let round = self.open.iter().filter(|other| other.epoch == epoch).count();
                    prop_assert!(round <= self.settings.half_open_probes as usize, "too many probes in a round");
                }
                Ok(None)
            }
            Passage::Broken { retry_after_ms } => {
                prop_assert_eq!(Told::Broken(retry_after_ms), told);
                prop_assert!(0.0 < retry_after_ms && retry_after_ms <= longest_ms, "{} ms", retry_after_ms);
                Ok(Some(retry_after_ms))
            }
            Passage::Isolated => {
                prop_assert_eq!(Told::Isolated, told);
                Ok(None)
            }
        }
    }

    /// Whatever has happened, whoever comes back when told is let in.
    pub fn insist(&mut self) -> Checked {
        if let Some(left_ms) = self.enter()? {
            self.now_ms += left_ms;
            prop_assert_eq!(self.enter()?, None, "not let in after {} ms", left_ms);
        }
        Ok(())
    }

    fn leave(&mut self, choice: usize, outcome: Outcome, early: bool) -> Checked {
        if self.open.is_empty() {
            return Ok(());
        }
        let Open { call, epoch, since } = self.open.swap_remove(choice % self.open.len());
        let now = self.now();
        let answered = if early { since } else { now };
        let counts = self.model.counts(call);
        let before = (!counts).then(|| format!("{:?}", self.breaker));
        let change = self.breaker.leave(epoch, (since, answered, now), outcome);
        if let Some(before) = before {
            prop_assert_eq!(before, format!("{:?}", self.breaker), "one of before has changed something");
        }
        let slow = answered.ms_since(since) >= self.settings.slow_call_ms;
        let done = self.model.leave(call, now, outcome, slow);
        match (change, done) {
            (None, None) => {}
            (Some(Change::Closed), Some(Done::Closed)) => self.shut = false,
            (Some(Change::Opened(opening)), Some(Done::Opened(opened))) => {
                let Opening { epoch, break_ms, failure_rate, failures, half_open_attempts } = opening;
                prop_assert_eq!(opened, Opened { break_ms, failures, failure_rate, half_open_attempts });
                prop_assert!(!self.shut, "opened twice");
                self.shut = true;
                self.openings.push((epoch, self.model.name()));
            }
            (change, done) => return Err(TestCaseError::fail(format!("{change:?}, not {done:?}"))),
        }
        Ok(())
    }

    pub fn step(&mut self, step: Step) -> Checked {
        let now = self.now();
        match step {
            Step::Enter => self.enter().map(|_| ())?,
            Step::Insist => self.insist()?,
            Step::Leave { choice, outcome, early } => self.leave(choice, outcome, early)?,
            Step::Pass(ms) => self.now_ms += ms,
            Step::GoBack(ms) => self.now_ms = (self.now_ms - ms).max(0.0),
            Step::SetBreak(choice, break_ms) => {
                if let Some(&(epoch, name)) = self.openings.iter().rev().nth(choice % 3) {
                    self.breaker.set_break(epoch, break_ms);
                    self.model.set_break(name, break_ms);
                }
            }
            Step::Isolate => prop_assert_eq!(self.breaker.isolate(), self.model.isolate()),
            Step::Close => {
                prop_assert_eq!(self.breaker.close(), self.model.close());
                self.shut = false;
            }
            Step::Restore(circuit, left_ms) => {
                self.breaker.restore(circuit, left_ms, now);
                self.model.restore(circuit, left_ms, now);
                self.shut = false;
            }
        }
        let now = self.now();
        let read = (self.breaker.circuit(now), self.breaker.break_remaining_ms(now));
        prop_assert_eq!(read, (self.model.circuit(now), self.model.break_remaining_ms(now)));
        Ok(())
    }
}
