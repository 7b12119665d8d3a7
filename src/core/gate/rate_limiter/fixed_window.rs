//! So many permits in a window; the window begins with its first permit.

use super::schedule::Schedule;

/// The rule. Across the border of two windows up to twice the permits may pass within one window's length.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    permits: u32,
    window: u64,
}

/// The latest window of a key.
#[derive(Debug, Default)]
pub struct Window {
    start: u64,
    taken: u32,
}

impl FixedWindow {
    /// `permits` in each `window`, neither of them zero.
    pub const fn new(permits: u32, window: u64) -> Self {
        Self { permits, window }
    }

    fn end(self, state: &Window, now: u64) -> u64 {
        state.start.min(now).saturating_add(self.window)
    }
}

impl Schedule for FixedWindow {
    type State = Window;

    fn take(&self, state: &mut Window, now: u64) -> bool {
        if self.is_idle(state, now) {
            *state = Window { start: now, taken: 0 };
        }
        state.start = state.start.min(now);
        let due = state.taken < self.permits;
        state.taken += u32::from(due);
        due
    }

    fn due(&self, state: &Window, now: u64) -> u64 {
        if self.available(state, now) > 0 { now } else { self.end(state, now) }
    }

    fn available(&self, state: &Window, now: u64) -> u32 {
        if self.is_idle(state, now) { self.permits } else { self.permits - state.taken }
    }

    fn reset_at(&self, state: &Window, now: u64) -> u64 {
        if self.is_idle(state, now) { now } else { self.end(state, now) }
    }

    fn is_idle(&self, state: &Window, now: u64) -> bool {
        state.taken == 0 || now >= self.end(state, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_with_its_first_permit_and_ends_a_window_later() {
        let (rule, mut state) = (FixedWindow::new(2, 10), Window::default());
        assert!(rule.take(&mut state, 7));
        assert!(rule.take(&mut state, 16));
        assert!(!rule.take(&mut state, 16));
        assert_eq!((rule.due(&state, 16), rule.reset_at(&state, 16)), (17, 17));
        assert!(rule.take(&mut state, 17));
        assert_eq!((rule.available(&state, 17), rule.due(&state, 17), rule.reset_at(&state, 17)), (1, 17, 27));
    }

    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_longer_than_a_window() {
        let (rule, mut state) = (FixedWindow::new(1, 10), Window::default());
        assert!(rule.take(&mut state, 1000));
        assert_eq!(rule.due(&state, 3), 13);
        assert!(!rule.take(&mut state, 3));
        assert_eq!(rule.due(&state, 5), 13);
        assert!(rule.take(&mut state, 13));
    }

    #[test]
    fn a_window_without_end_never_ends() {
        let (rule, mut state) = (FixedWindow::new(1, u64::MAX), Window::default());
        assert!(rule.take(&mut state, 1));
        assert!(!rule.take(&mut state, u64::MAX - 1));
    }
}
