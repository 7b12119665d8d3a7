//! When a window may be judged.

use super::window::Window;
use super::{Knee, Mode};

/// From this share of drops on, a window needs no mean.
const DROPS_END_A_WINDOW: f64 = 0.25;
/// The first window is this many flights long: in the first of these, only the quick calls end.
const FIRST_FLIGHTS: f64 = 3.0;

impl Knee {
    /// Whether the window has enough samples, over enough time. May set the first baseline.
    pub(super) fn is_complete(&mut self, now: f64) -> bool {
        let Window { answered, drops, sum, .. } = self.window;
        let total = answered + drops;
        if self.mode == Mode::Probe && self.probes.is_over(now, answered) {
            return true;
        }
        let least = match self.mode {
            Mode::Recover => self.limit.clamp(4.0, 16.0),
            Mode::Loss => 32.0,
            _ => 16.0,
        };
        if total < least {
            return false;
        }
        if self.last_mean == 0.0 {
            if now < FIRST_FLIGHTS * sum / answered.max(1.0) {
                return false;
            }
            if answered >= 4.0 {
                self.window.base_sum = self.baselines.start();
            }
        }
        if self.mode == Mode::Recover || drops >= DROPS_END_A_WINDOW * total {
            return true;
        }
        let (samples, flights) = match self.mode {
            Mode::Run => (self.window.wanted_samples(), 0.5),
            _ => (self.window.wanted_samples().clamp(32.0, 128.0), 1.0),
        };
        let lasted = now - self.window.opened;
        (total >= samples || self.last_mean <= 0.0) && lasted >= flights * self.last_mean.max(sum / answered)
    }
}
