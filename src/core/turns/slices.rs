//! Slices of the loop's time in which requests are started, and what they teach of the pace.

use super::SLICE_MS;
use super::pace::Pace;
use crate::core::clock::Nanos;

/// The slice under way, and the one before.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    pace: Pace,
    /// When the slice under way began, and how many it has started.
    current: Option<(Nanos, u32)>,
    /// How long the last one lasted.
    lasted_ms: f64,
    /// From when on the loop's time belongs to the next starts; `None` while nobody waits.
    since: Option<Nanos>,
    /// Starts outside of slices since then: by ends of others.
    acknowledged: u32,
    /// Requests let in at once since the last check phase, and when the first was.
    direct: Option<(Nanos, u32)>,
}

impl Slices {
    /// The loop's time for a start, in milliseconds.
    #[must_use]
    pub const fn pace_ms(&self) -> f64 {
        self.pace.get()
    }

    /// The same for predictions: 0 as long as too little is known.
    #[must_use]
    pub fn predicted_pace_ms(&self) -> f64 {
        self.pace.predicted()
    }

    /// How long the last one lasted, in milliseconds; 0 before the first.
    #[must_use]
    pub const fn lasted_ms(&self) -> f64 {
        self.lasted_ms
    }

    /// Whether one is under way.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.current.is_some()
    }

    /// A request is let in at once.
    pub const fn start_directly(&mut self, now: Nanos) {
        let (since, number) = match self.direct {
            Some((since, number)) => (since, number),
            None => (now, 0),
        };
        self.direct = Some((since, number.saturating_add(1)));
        self.rest();
    }

    /// A request is started in the place of one that has ended.
    pub const fn acknowledge(&mut self) {
        self.acknowledged = self.acknowledged.saturating_add(1);
    }

    /// The check phase: the first requests teach the pace even if nobody waits.
    pub fn check(&mut self, now: Nanos) {
        if let Some((since, number)) = self.direct.take()
            && self.pace.is_new()
        {
            self.pace.learn(now.ms_since(since), number);
        }
    }

    /// Nobody waits, or the loop's time does not belong to the next starts alone.
    pub const fn rest(&mut self) {
        self.since = None;
        self.acknowledged = 0;
    }

    /// Nobody may start now, though somebody waits.
    pub fn hold(&mut self, now: Nanos) {
        if self.acknowledged > 0 {
            self.learn(now, self.acknowledged);
        } else {
            self.since.get_or_insert(now);
        }
    }

    /// Whether the door may have another turn before a slice: for no longer than the last slice has lasted, or half of
    /// the loop would not be left for work if refusing alone could fill it. `busy_since` is when the loop last slept,
    /// if no slice was since.
    #[must_use]
    pub fn door_is_first(&self, busy_since: Option<Nanos>, now: Nanos) -> bool {
        self.since.or(busy_since).is_some_and(|since| now.ms_since(since) < self.lasted_ms.max(SLICE_MS))
    }

    /// One begins.
    pub const fn begin(&mut self, now: Nanos) {
        self.current = Some((now, 0));
    }

    /// Whether the one under way has time for another start; the first has in any case.
    #[must_use]
    pub fn has_time(&self, now: Nanos) -> bool {
        self.current.is_some_and(|(began, started)| started == 0 || now.ms_since(began) < SLICE_MS)
    }

    /// A request is started in it.
    pub const fn start(&mut self) {
        if let Some((_, started)) = &mut self.current {
            *started += 1;
        }
    }

    /// It ends, if one is under way.
    pub fn end(&mut self, now: Nanos) {
        let Some((began, started)) = self.current.take() else { return };
        self.lasted_ms = now.ms_since(began);
        let starts = started + self.acknowledged;
        if starts > 0 {
            self.since.get_or_insert(began);
            self.learn(now, starts);
        }
        self.since = Some(now);
    }

    fn learn(&mut self, now: Nanos, starts: u32) {
        if let Some(since) = self.since.replace(now) {
            self.pace.learn(now.ms_since(since), starts);
        }
        self.acknowledged = 0;
    }
}
