//! A breaker that remembers every call, and finds everything out by going through all of them.

use resilience::core::clock::Nanos;
use resilience::core::gate::circuit_breaker::{Circuit, Settings};
use resilience::core::outcome::Outcome;

/// A stretch of time in one state.
#[derive(Clone, Copy, Debug)]
enum Period {
    Closed,
    Open { since: Nanos, until: Nanos },
    HalfOpen { round: usize, next_round: Nanos },
    Isolated,
}

/// An execution that was let in.
#[derive(Clone, Copy, Debug)]
struct Call {
    period: usize,
    round: usize,
    end: Option<End>,
}

/// How a call ended, if that counted.
#[derive(Clone, Copy, Debug)]
struct End {
    outcome: Outcome,
    slow: bool,
    /// The order of ends.
    turn: usize,
    /// When the calls that are forgotten together with it began to end; `None` once it is forgotten.
    bucket: Option<Nanos>,
}

/// What an execution that wants in is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told {
    /// The number of its call, and whether it is the first probe.
    In(usize, bool),
    /// When to come again.
    Broken(f64),
    Isolated,
}

/// What an opening is announced with, but for its epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opened {
    pub break_ms: f64,
    pub failures: u32,
    pub failure_rate: f64,
    pub half_open_attempts: u32,
}

/// What the end of a call does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    Opened(Opened),
    Closed,
}

/// The model.
pub struct Model {
    settings: Settings,
    calls: Vec<Call>,
    ends: usize,
    /// How many periods there were before this one.
    past: usize,
    period: Period,
    break_ms: f64,
    reopened: u32,
}

impl Model {
    pub const fn new(settings: Settings) -> Self {
        let break_ms = settings.break_ms;
        Self { settings, calls: Vec::new(), ends: 0, past: 0, period: Period::Closed, break_ms, reopened: 0 }
    }

    const fn begin(&mut self, period: Period) {
        self.past += 1;
        self.period = period;
    }

    pub fn circuit(&self, now: Nanos) -> Circuit {
        match self.period {
            Period::Closed => Circuit::Closed,
            Period::Open { .. } if self.break_remaining_ms(now) > 0.0 => Circuit::Open,
            Period::Open { .. } | Period::HalfOpen { .. } => Circuit::HalfOpen,
            Period::Isolated => Circuit::Isolated,
        }
    }

    pub fn break_remaining_ms(&self, now: Nanos) -> f64 {
        match self.period {
            Period::Open { since, until } => until.ms_since(since).min(until.ms_since(now)),
            _ => 0.0,
        }
    }

    /// The longest that anyone may have to wait.
    pub fn longest_wait_ms(&self) -> f64 {
        match self.period {
            Period::Open { since, until } => until.ms_since(since),
            _ => self.break_ms,
        }
    }

    /// The calls of this period.
    fn own(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.period == self.past)
    }

    /// How many probes of this period have succeeded.
    fn succeeded(&self) -> usize {
        self.own().filter(|call| call.end.is_some_and(|end| end.outcome == Outcome::Success)).count()
    }

    /// How many probes of a round have not ended.
    fn running(&self, round: usize) -> usize {
        self.own().filter(|call| call.round == round && call.end.is_none()).count()
    }

    pub fn enter(&mut self, now: Nanos) -> Told {
        let first = matches!(self.period, Period::Open { .. });
        if let Period::Open { since, until } = self.period {
            let left_ms = self.break_remaining_ms(now);
            if now < since {
                self.period = Period::Open { since: now, until: now.plus_ms(until.ms_since(since)) };
            }
            if left_ms > 0.0 {
                return Told::Broken(left_ms);
            }
            self.begin(Period::HalfOpen { round: 0, next_round: now });
        }
        let round = match self.period {
            Period::Isolated => return Told::Isolated,
            Period::Closed | Period::Open { .. } => 0,
            Period::HalfOpen { mut round, next_round } => {
                let wanted = self.settings.half_open_probes as usize - self.succeeded();
                let next_round = next_round.min(now.plus_ms(self.break_ms));
                if self.running(round) >= wanted {
                    if now < next_round {
                        self.period = Period::HalfOpen { round, next_round };
                        return Told::Broken(next_round.ms_since(now));
                    }
                    round += 1;
                }
                self.period = Period::HalfOpen { round, next_round: now.plus_ms(self.break_ms) };
                round
            }
        };
        self.calls.push(Call { period: self.past, round, end: None });
        Told::In(self.calls.len() - 1, first)
    }

    /// Whether the end of a call counts.
    pub fn counts(&self, call: usize) -> bool {
        self.calls[call].period == self.past
    }

    pub fn leave(&mut self, call: usize, now: Nanos, outcome: Outcome, slow: bool) -> Option<Done> {
        let counts = self.counts(call);
        self.ends += 1;
        let end = End { outcome, slow, turn: self.ends, bucket: None };
        self.calls[call].end = Some(end);
        match self.period {
            _ if !counts || outcome == Outcome::NoSample => None,
            Period::Closed => self.count(call, end, now),
            Period::HalfOpen { .. } if outcome == Outcome::Drop || slow => {
                self.reopened += 1;
                Some(self.open(now, 1, 1.0))
            }
            Period::HalfOpen { .. } => {
                let enough = self.succeeded() >= self.settings.half_open_probes as usize;
                (enough && self.close()).then_some(Done::Closed)
            }
            Period::Open { .. } | Period::Isolated => None,
        }
    }

    /// A call of the closed circuit has ended.
    fn count(&mut self, call: usize, end: End, now: Nanos) -> Option<Done> {
        let Settings { sampling_ms, minimum_throughput, failure_ratio, slow_call_ratio, .. } = self.settings;
        for end in self.calls.iter_mut().filter_map(|call| call.end.as_mut()) {
            // Nothing is in the future: a clock that went back has made it present.
            end.bucket =
                end.bucket.map(|bucket| bucket.min(now)).filter(|bucket| now.ms_since(*bucket) < sampling_ms);
        }
        let latest = self.own().filter_map(|call| call.end?.bucket).max();
        let bucket = latest.filter(|latest| now.ms_since(*latest) < sampling_ms / 10.0).unwrap_or(now);
        self.calls[call].end = Some(End { bucket: Some(bucket), ..end });

        let counted: Vec<End> =
            self.own().filter_map(|call| call.end.filter(|end| end.bucket.is_some())).collect();
        let number = |holds: &dyn Fn(&End) -> bool| {
            u32::try_from(counted.iter().filter(|end| holds(end)).count()).expect("few calls")
        };
        let (calls, failures, slow) =
            (number(&|_| true), number(&|end| end.outcome == Outcome::Drop), number(&|end| end.slow));
        let share = |part: u32| f64::from(part) / f64::from(calls);

        let mut ends: Vec<End> =
            self.own().filter_map(|call| call.end.filter(|end| end.outcome != Outcome::NoSample)).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.turn));
        let in_a_row = ends.iter().take_while(|end| end.outcome == Outcome::Drop).count();

        let enough = calls >= minimum_throughput;
        let too_many = failures > 0 && share(failures) >= failure_ratio;
        let too_slow = slow > 0 && share(slow) >= slow_call_ratio;
        let consecutive = self.settings.consecutive_failures as usize;
        let row = consecutive > 0 && in_a_row >= consecutive;
        (enough && (too_many || too_slow) || row).then(|| self.open(now, failures, share(failures)))
    }

    const fn open(&mut self, now: Nanos, failures: u32, failure_rate: f64) -> Done {
        self.break_ms = self.settings.break_ms;
        self.begin(Period::Open { since: now, until: now.plus_ms(self.break_ms) });
        Done::Opened(Opened { break_ms: self.break_ms, failures, failure_rate, half_open_attempts: self.reopened })
    }

    /// Names this period, to move its break later.
    pub const fn name(&self) -> usize {
        self.past
    }

    pub const fn set_break(&mut self, name: usize, break_ms: f64) {
        if let Period::Open { since, .. } = self.period
            && name == self.past
        {
            self.break_ms = break_ms;
            self.period = Period::Open { since, until: since.plus_ms(break_ms) };
        }
    }

    pub const fn isolate(&mut self) -> bool {
        let change = !matches!(self.period, Period::Isolated);
        if change {
            self.begin(Period::Isolated);
        }
        change
    }

    pub const fn close(&mut self) -> bool {
        let change = !matches!(self.period, Period::Closed);
        if change {
            self.begin(Period::Closed);
            self.reopened = 0;
        }
        change
    }

    pub fn restore(&mut self, circuit: Circuit, break_ms: f64, now: Nanos) {
        self.close();
        match circuit {
            Circuit::Closed => {}
            Circuit::Isolated => self.begin(Period::Isolated),
            Circuit::Open | Circuit::HalfOpen => {
                let left_ms = if circuit == Circuit::Open { break_ms } else { 0.0 };
                self.break_ms = self.settings.break_ms;
                self.begin(Period::Open { since: now, until: now.plus_ms(left_ms) });
            }
        }
    }
}
