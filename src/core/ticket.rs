//! One execution inside one segment.

use super::clock::Nanos;
use super::gate::rate_limiter;
use super::pauses::Pauses;
use super::queue::Rank;
use super::slab::Key;
use super::timers::Timer;

/// How many gates one segment holds at the most; a longer run of gates becomes several segments.
pub const MAX_GATES: usize = 6;

/// What an execution holds of a gate it has passed.
#[derive(Clone, Copy, Debug)]
pub enum Hold {
    /// A permit.
    Permit {
        /// Since when.
        since: Nanos,
        /// How often the limiter had cut its limit by then.
        cuts: u32,
    },
    /// A deadline.
    Deadline {
        /// Its timer; `None` if there is nothing to watch or it was disarmed.
        timer: Option<Timer>,
        /// When it passes.
        due: Nanos,
    },
    /// A passage of a circuit breaker.
    Circuit {
        /// Since when.
        since: Nanos,
        /// The breaker's epoch at that time.
        epoch: u64,
    },
    /// Nothing: the permit of a rate limiter is used up.
    Nothing,
}

/// A place in a queue.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// For a permit of a concurrency limiter.
    Permit(Rank),
    /// For the next permit that a rate limiter has for a key.
    Rate(rate_limiter::Place),
}

/// An execution that queues.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Its place.
    pub place: Place,
    /// What ends the wait: the queue timeout, or the permit that is due.
    pub timer: Option<Timer>,
}

/// An execution's way through its segment. It holds the first `passed` gates; if `wait` is set, it queues at
/// the one after them.
#[derive(Debug)]
pub struct Ticket {
    /// The segment it is in.
    pub segment: Key,
    /// How many gates it has passed.
    pub passed: usize,
    /// What it holds of each.
    pub holds: [Hold; MAX_GATES],
    /// Its place in a queue.
    pub wait: Option<Wait>,
    /// When the first byte of its answer left, for executions that answer as a stream.
    pub first_byte: Option<Nanos>,
    /// Whether a gate that it has passed learns from its latency, which is not known yet.
    measured: bool,
}

impl Ticket {
    /// A ticket before the first gate.
    #[must_use]
    pub const fn new(segment: Key) -> Self {
        Self {
            segment,
            passed: 0,
            holds: [Hold::Nothing; MAX_GATES],
            wait: None,
            first_byte: None,
            measured: false,
        }
    }

    /// Notes that the next gate is passed.
    pub const fn pass(&mut self, hold: Hold) {
        self.holds[self.passed] = hold;
        self.passed += 1;
    }

    /// A gate that it passes learns from its latency.
    pub fn measure(&mut self, now: Nanos, pauses: &mut Pauses) {
        if !self.measured {
            self.measured = true;
            pauses.begin(now);
        }
    }

    /// Its latency is known.
    pub const fn stop_measuring(&mut self, pauses: &mut Pauses) {
        if self.measured {
            self.measured = false;
            pauses.end();
        }
    }

    /// When the first of its armed deadlines passes.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        let dues = self.holds[..self.passed].iter().filter_map(|hold| match hold {
            Hold::Deadline { timer: Some(_), due } => Some(*due),
            _ => None,
        });
        dues.min()
    }

    /// Takes the armed deadlines out.
    pub fn take_deadlines(&mut self) -> impl Iterator<Item = Timer> + '_ {
        self.holds[..self.passed].iter_mut().filter_map(|hold| match hold {
            Hold::Deadline { timer, .. } => timer.take(),
            _ => None,
        })
    }
}
