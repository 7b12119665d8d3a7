//! What calls are made to: workers, and a queue inside.

use std::collections::VecDeque;

use super::plan::Plan;
use crate::core::slab::Key;

/// Serves as many calls at once as it has workers. The others wait for one, first come first served; or, if it
/// shares, all run at once and slow each other down.
///
/// A call is done when its service time has passed on a clock of work, the same for all that run: it stands
/// still in a stall, and goes slower the more calls share the workers.
#[derive(Debug)]
pub struct Dependency {
    workers: usize,
    sharing: bool,
    stalled: bool,
    backlog: VecDeque<Key>,
    /// By the clock of work.
    running: Plan<Key>,
    /// The clock of work, and the time at which it was read.
    work: f64,
    read_at: f64,
}

impl Dependency {
    /// One that nobody has called.
    #[must_use]
    pub fn new(workers: usize, sharing: bool) -> Self {
        Self {
            workers,
            sharing,
            stalled: false,
            backlog: VecDeque::new(),
            running: Plan::default(),
            work: 0.0,
            read_at: 0.0,
        }
    }

    /// Whether a worker has nothing to do.
    #[must_use]
    pub fn has_idle_worker(&self) -> bool {
        self.running.len() < self.workers
    }

    /// Changes the number of workers. Calls that run go on.
    pub fn set_workers(&mut self, workers: usize, now: f64) {
        self.advance(now);
        self.workers = workers;
    }

    /// Begins or ends a stall.
    pub fn set_stalled(&mut self, stalled: bool, now: f64) {
        self.advance(now);
        self.stalled = stalled;
    }

    /// Takes a call in; [`Dependency::begin`] starts it.
    pub fn take(&mut self, call: Key) {
        self.backlog.push_back(call);
    }

    /// Starts the calls that have a worker. `service_ms` tells how long one takes, or that it has gone.
    pub fn begin(&mut self, now: f64, mut service_ms: impl FnMut(Key) -> Option<f64>) {
        while self.sharing || self.has_idle_worker() {
            let Some(call) = self.backlog.pop_front() else { return };
            let Some(service_ms) = service_ms(call) else { continue };
            self.advance(now);
            self.running.push(self.work + service_ms, call);
        }
    }

    /// When the next call is done; infinite if none will be.
    #[must_use]
    pub fn next_finish(&self) -> f64 {
        let pace = self.pace();
        match self.running.next() {
            Some(work) if pace > 0.0 => self.read_at + (work - self.work).max(0.0) / pace,
            _ => f64::INFINITY,
        }
    }

    /// Takes out the call that is done `now`.
    pub fn finish(&mut self, now: f64) -> Option<Key> {
        self.advance(now);
        self.running.pop()
    }

    fn pace(&self) -> f64 {
        if self.stalled {
            0.0
        } else if self.sharing {
            #[expect(clippy::cast_precision_loss, reason = "counts of calls and workers")]
            let share = self.workers as f64 / self.running.len() as f64;
            share.min(1.0)
        } else {
            1.0
        }
    }

    fn advance(&mut self, now: f64) {
        self.work += (now - self.read_at) * self.pace();
        self.read_at = now;
    }
}
