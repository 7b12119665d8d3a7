//! What one adapter asks of the gate, and what it is told of overload.

use crate::core::clock::Nanos;
use crate::core::effect::Reason;

/// So long after the last refusal overload is over, and so often it is told of.
const QUIET_MS: f64 = 1000.0;

/// An adapter's options, its counters, and its overload.
#[derive(Clone, Debug)]
pub struct Door {
    /// How long requests wait while more is offered than can be served.
    pub target_ms: f64,
    /// The longest wait at all.
    pub max_ms: f64,
    refusals: Refusals,
    started: u64,
    overload: Option<Overload>,
}

/// How many were turned away, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// At the door.
    pub full: u64,
    /// They had waited too long.
    pub queue_timeout: u64,
    /// They made room for more important ones.
    pub dropped: u64,
    /// The adapter was disposed.
    pub disposed: u64,
}

impl Refusals {
    /// For too much load.
    #[must_use]
    pub const fn of_overload(&self) -> u64 {
        self.full + self.queue_timeout + self.dropped
    }
}

/// From the first refusal on.
#[derive(Clone, Debug)]
struct Overload {
    began: Nanos,
    last_refusal: Nanos,
    told: Option<Nanos>,
    /// The counters before it began.
    refused: u64,
    started: u64,
}

/// What is to be told of an overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It has begun.
    Began,
    /// It lasts: once a second.
    Lasts,
    /// It is over.
    Ended,
    /// Nothing at the moment.
    Nothing,
}

/// The state of an overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// What is to be told.
    pub news: News,
    /// Requests turned away since it began.
    pub refused: u64,
    /// Requests started since it began.
    pub started: u64,
    /// Milliseconds since it began.
    pub duration_ms: f64,
    /// In how many milliseconds there may be news again; infinite once it is over.
    pub again_ms: f64,
}

impl Door {
    /// A door that nobody has come to.
    #[must_use]
    pub fn new(target_ms: f64, max_ms: f64) -> Self {
        Self { target_ms, max_ms, refusals: Refusals::default(), started: 0, overload: None }
    }

    /// How many were turned away.
    #[must_use]
    pub const fn refusals(&self) -> Refusals {
        self.refusals
    }

    /// How many have started.
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// Counts a start.
    pub const fn start(&mut self) {
        self.started += 1;
    }

    /// Counts so many refusals. Those of a disposed adapter are no overload.
    pub fn refuse(&mut self, reason: Reason, number: u64, now: Nanos) {
        let count = match reason {
            Reason::QueueTimeout => &mut self.refusals.queue_timeout,
            Reason::Dropped => &mut self.refusals.dropped,
            Reason::Disposed => {
                self.refusals.disposed += number;
                return;
            }
            _ => &mut self.refusals.full,
        };
        let refused = {
            *count += number;
            self.refusals.of_overload() - number
        };
        let started = self.started;
        let overload =
            self.overload.get_or_insert(Overload { began: now, last_refusal: now, told: None, refused, started });
        overload.last_refusal = now;
    }

    /// Whether requests were turned away in the last second, as far as [`Door::report`] knows.
    #[must_use]
    pub const fn is_overloaded(&self) -> bool {
        self.overload.is_some()
    }

    /// What is to be told now; each news once.
    pub fn report(&mut self, now: Nanos) -> Option<Report> {
        let refused = self.refusals.of_overload();
        let overload = self.overload.as_mut()?;
        let quiet_ms = QUIET_MS - now.ms_since(overload.last_refusal);
        let (news, again_ms) = match overload.told {
            None => (News::Began, QUIET_MS),
            Some(_) if quiet_ms <= 0.0 => (News::Ended, f64::INFINITY),
            Some(told) if now.ms_since(told) >= QUIET_MS => (News::Lasts, quiet_ms),
            Some(told) => (News::Nothing, quiet_ms.min(QUIET_MS - now.ms_since(told))),
        };
        let report = Report {
            news,
            refused: refused - overload.refused,
            started: self.started - overload.started,
            duration_ms: now.ms_since(overload.began),
            again_ms,
        };
        match news {
            News::Began | News::Lasts => overload.told = Some(now),
            News::Ended => self.overload = None,
            News::Nothing => {}
        }
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Nanos {
        Nanos::new(ms * 1_000_000)
    }

    fn news(door: &mut Door, ms: u64) -> Option<(News, u64, f64)> {
        door.report(at(ms)).map(|report| (report.news, report.refused, report.again_ms))
    }

    #[test]
    fn it_begins_is_told_once_a_second_and_ends_a_second_after_the_last_refusal() {
        let mut door = Door::new(100.0, 500.0);
        assert_eq!(news(&mut door, 0), None);
        door.refuse(Reason::Full, 1, at(10));
        assert_eq!(news(&mut door, 10), Some((News::Began, 1, 1000.0)));
        door.refuse(Reason::QueueTimeout, 2, at(500));
        assert_eq!(news(&mut door, 700), Some((News::Nothing, 3, 310.0)));
        assert_eq!(news(&mut door, 1010), Some((News::Lasts, 3, 490.0)));
        assert_eq!(news(&mut door, 1500), Some((News::Ended, 3, f64::INFINITY)));
        assert_eq!(news(&mut door, 1501), None);
        door.refuse(Reason::Dropped, 1, at(2000));
        assert_eq!(news(&mut door, 2000), Some((News::Began, 1, 1000.0)));
    }

    #[test]
    fn what_a_disposed_adapter_turns_away_is_no_overload() {
        let mut door = Door::new(100.0, 500.0);
        door.refuse(Reason::Disposed, 3, at(10));
        assert_eq!(news(&mut door, 10), None);
        assert_eq!(door.refusals().disposed, 3);
    }
}
