//! So many permits in any window.
//!
//! Up to 16 permits a window every one of them is remembered, and the rule is exact. Above that permits that
//! follow each other within a fifteenth of the window are remembered as one *run*, and the whole run leaves the
//! window with its last one: there are never more permits in a window than allowed, and one comes back less
//! than a fifteenth of the window late. So a key never needs more than 16 runs: those after its oldest begin at
//! least a fifteenth of the window apart, and after the oldest one's end, which lies within the window.

use super::schedule::Schedule;

const MAX_RUNS: usize = 16;

/// The rule. A window is half open: a permit of time `t` comes back at `t + window`.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    permits: u32,
    window: u64,
    /// A permit less than this after a run's first one joins the run.
    span: u64,
}

/// Permits that come back together.
#[derive(Debug)]
struct Run {
    last: u64,
    permits: u32,
}

/// The permits of a key, oldest run first. At the most 16 runs, and no more permits than the rule allows.
#[derive(Debug, Default)]
pub struct Log {
    runs: Vec<Run>,
    /// The time of the first permit of the latest run.
    latest_since: u64,
}

impl SlidingWindow {
    /// `permits` in any `window`, neither of them zero.
    pub fn new(permits: u32, window: u64) -> Self {
        let exact = usize::try_from(permits).is_ok_and(|permits| permits <= MAX_RUNS);
        Self { permits, window, span: if exact { 1 } else { window.div_ceil(15) } }
    }

    /// When the permits of `run` come back.
    fn end(self, run: &Run, now: u64) -> u64 {
        run.last.min(now).saturating_add(self.window)
    }

    /// The runs that are within the window.
    fn live(self, state: &Log, now: u64) -> impl Iterator<Item = &Run> {
        state.runs.iter().skip_while(move |run| self.end(run, now) <= now)
    }
}

impl Log {
    /// Makes one run of now of all that lie in the future: the clock went back.
    #[cold]
    fn pull_back(&mut self, now: u64) {
        let past = self.runs.partition_point(|run| run.last <= now);
        let permits = self.runs.drain(past..).map(|run| run.permits).sum();
        self.runs.push(Run { last: now, permits });
        self.latest_since = self.latest_since.min(now);
    }
}

impl Schedule for SlidingWindow {
    type State = Log;

    fn take(&self, state: &mut Log, now: u64) -> bool {
        if state.runs.last().is_some_and(|latest| latest.last > now) {
            state.pull_back(now);
        }
        let gone = state.runs.iter().take_while(|run| self.end(run, now) <= now).count();
        state.runs.drain(..gone);
        if state.runs.iter().map(|run| run.permits).sum::<u32>() >= self.permits {
            return false;
        }
        let full = state.runs.len() == MAX_RUNS;
        match state.runs.last_mut() {
            // The runs are only full after the clock went back; they are closer to each other then.
            Some(latest) if full || now - state.latest_since < self.span => {
                latest.last = now;
                latest.permits += 1;
            }
            _ => {
                state.runs.push(Run { last: now, permits: 1 });
                state.latest_since = now;
            }
        }
        true
    }

    fn due(&self, state: &Log, now: u64) -> u64 {
        if self.available(state, now) > 0 {
            return now;
        }
        self.live(state, now).next().map_or(now, |oldest| self.end(oldest, now))
    }

    fn available(&self, state: &Log, now: u64) -> u32 {
        self.permits - self.live(state, now).map(|run| run.permits).sum::<u32>()
    }

    fn reset_at(&self, state: &Log, now: u64) -> u64 {
        state.runs.last().map_or(now, |latest| self.end(latest, now)).max(now)
    }

    fn is_idle(&self, state: &Log, now: u64) -> bool {
        self.reset_at(state, now) == now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_comes_back_a_window_after_it_was_taken() {
        let (rule, mut state) = (SlidingWindow::new(2, 10), Log::default());
        assert!(rule.take(&mut state, 0));
        assert!(rule.take(&mut state, 9));
        assert!(!rule.take(&mut state, 9));
        assert_eq!((rule.due(&state, 9), rule.reset_at(&state, 9)), (10, 19));
        assert!(rule.take(&mut state, 10));
        assert!(!rule.take(&mut state, 18));
        assert_eq!((rule.available(&state, 18), rule.due(&state, 18)), (0, 19));
        assert_eq!((rule.available(&state, 19), rule.due(&state, 19)), (1, 19));
    }

    #[test]
    fn many_permits_are_remembered_as_at_most_sixteen_runs() {
        for window in [1, 14, 15, 16, 150, 1_000_003] {
            let (rule, mut state) = (SlidingWindow::new(1000, window), Log::default());
            for step in 0..5000 {
                let now = step * window.div_ceil(211);
                rule.take(&mut state, now);
                assert!(state.runs.len() <= MAX_RUNS && state.runs.capacity() <= MAX_RUNS);
            }
        }
    }

    #[test]
    fn a_run_comes_back_with_its_last_permit() {
        let (rule, mut state) = (SlidingWindow::new(17, 150), Log::default());
        for now in [0, 9, 10, 20] {
            assert!(rule.take(&mut state, now));
        }
        let available = [149, 150, 158, 159, 160, 169, 170].map(|now| rule.available(&state, now));
        assert_eq!(available, [13, 13, 13, 15, 16, 16, 17]);
    }

    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_longer_than_a_window() {
        for permits in [4, 40] {
            let (rule, mut state) = (SlidingWindow::new(permits, 10), Log::default());
            for now in 0..permits.into() {
                assert!(rule.take(&mut state, 1000 + now / 10));
            }
            assert_eq!((rule.due(&state, 3), rule.reset_at(&state, 3)), (13, 13));
            assert!(!rule.take(&mut state, 3));
            assert_eq!(rule.available(&state, 13), permits);
        }
    }

    #[test]
    fn a_clock_that_goes_back_again_and_again_needs_no_more_runs() {
        let (rule, mut state) = (SlidingWindow::new(1000, 1500), Log::default());
        for step in 0..1000 {
            assert!(rule.take(&mut state, step / 2 + step % 2 * 100));
            assert!(state.runs.len() <= MAX_RUNS);
        }
    }
}
