//! Times in which the thread stood still, and what lasted longer only because of them.
//!
//! A thread that is busy, or whose process is frozen, reads no answers: those that came meanwhile seem to have taken
//! until it goes on. While latency is measured the thread has to look at the clock every [`LOOK_MS`]; a look that is
//! much too late tells of a pause, from the time when it was due. Every call is such a look. So many short pieces of
//! work, each with calls of its own, are no pause: that is load, which latency has to show.

use std::collections::VecDeque;

use super::clock::Nanos;

/// How often the thread has to look.
const LOOK_MS: f64 = 20.0;
/// A look that is less late tells of nothing: compilers, collectors and a machine that is shared take as much.
const LATE_MS: f64 = 100.0;
/// Where a call has been under way for long, a look every eighth of that time is enough.
const SHARE: f64 = 8.0;
/// How many pauses are kept: a call that saw more seems longer than it was.
const KEPT: usize = 8;

/// The pauses of one thread.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Whether anyone looks at the clock. In simulated time nobody does.
    watched: bool,
    /// Whether the present call is on another clock.
    elsewhere: bool,
    /// Executions under way whose latency counts.
    measured: u32,
    /// When the last of them began.
    newest: Nanos,
    /// When the thread has to look again.
    due: Option<Nanos>,
    /// Oldest first, from and to.
    past: VecDeque<(Nanos, Nanos)>,
}

impl Pauses {
    /// From now on the caller looks when it is due.
    pub const fn watch(&mut self) {
        self.watched = true;
    }

    /// A call at `now`.
    pub fn look(&mut self, now: Nanos) {
        self.elsewhere = false;
        let Some(due) = self.due.filter(|due| *due <= now) else { return };
        if now.ms_since(due) >= LATE_MS {
            if self.past.len() == KEPT {
                self.past.pop_front();
            }
            self.past.push_back((due, now));
        }
        let age_ms = now.ms_since(self.newest);
        self.due = Some(now.plus_ms((age_ms / SHARE).max(LOOK_MS)));
    }

    /// A call on another clock, which knows no pauses.
    pub const fn look_away(&mut self) {
        self.elsewhere = true;
    }

    /// When the thread has to look again; `None` while no latency counts.
    #[must_use]
    pub const fn due(&self) -> Option<Nanos> {
        self.due
    }

    /// The latency of one more execution counts.
    pub fn begin(&mut self, now: Nanos) {
        self.measured += 1;
        if !self.watched || self.elsewhere {
            return;
        }
        self.newest = now;
        let soon = now.plus_ms(LOOK_MS);
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
    }

    /// The latency of an execution is known.
    pub const fn end(&mut self) {
        self.measured -= 1;
        if self.measured == 0 {
            self.due = None;
        }
    }

    /// Milliseconds of pauses between two times.
    #[must_use]
    pub fn ms_between(&self, since: Nanos, until: Nanos) -> f64 {
        let seen = self.past.iter().rev().take_while(|(_, to)| *to > since);
        seen.map(|(from, to)| until.min(*to).ms_since(since.max(*from))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> Pauses {
        let mut pauses = Pauses::default();
        pauses.watch();
        pauses
    }

    fn look(pauses: &mut Pauses, ms: f64) {
        pauses.look(Nanos::from_ms(ms));
    }

    fn begin(pauses: &mut Pauses, ms: f64) {
        look(pauses, ms);
        pauses.begin(Nanos::from_ms(ms));
    }

    fn seen(pauses: &Pauses, since_ms: f64) -> f64 {
        pauses.ms_between(Nanos::from_ms(since_ms), Nanos::new(u64::MAX))
    }

    #[test]
    fn a_look_that_is_much_too_late_tells_of_a_pause() {
        let mut pauses = watched();
        begin(&mut pauses, 100.0);
        assert_eq!(pauses.due(), Some(Nanos::from_ms(120.0)));
        look(&mut pauses, 219.0);
        assert!((seen(&pauses, 50.0)).abs() < f64::EPSILON);
        look(&mut pauses, 500.0);
        assert!((seen(&pauses, 50.0) - 261.0).abs() < 1e-6, "from 239 on");
        assert!((seen(&pauses, 300.0) - 200.0).abs() < 1e-6);
        assert!((seen(&pauses, 500.0)).abs() < f64::EPSILON);
    }

    #[test]
    fn what_looks_all_the_time_has_no_pause() {
        let mut pauses = watched();
        begin(&mut pauses, 0.0);
        for ms in 1..100 {
            look(&mut pauses, f64::from(ms) * 15.0);
        }
        assert!((seen(&pauses, 0.0)).abs() < f64::EPSILON);
    }

    #[test]
    fn nobody_has_to_look_while_no_latency_counts_and_seldom_while_it_is_long() {
        let mut pauses = watched();
        begin(&mut pauses, 0.0);
        begin(&mut pauses, 0.0);
        look(&mut pauses, 8000.0);
        assert_eq!(pauses.due(), Some(Nanos::from_ms(9000.0)));
        begin(&mut pauses, 8000.0);
        assert_eq!(pauses.due(), Some(Nanos::from_ms(8020.0)));
        for _ in 0..3 {
            pauses.end();
        }
        assert_eq!(pauses.due(), None);
    }

    #[test]
    fn simulated_time_has_no_pauses() {
        let mut pauses = Pauses::default();
        begin(&mut pauses, 0.0);
        assert_eq!(pauses.due(), None);
        look(&mut pauses, 1e9);
        assert!((seen(&pauses, 0.0)).abs() < f64::EPSILON);
    }
}
