//! Every deadline of one thread.

use std::collections::VecDeque;

use super::clock::Nanos;
use super::effect::Effect;
use super::slab::{Key, Slab};
use super::wheel::Wheel;

/// What has to happen at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The timeout at this gate ends the execution.
    Deadline {
        /// The execution.
        ticket: Key,
        /// Index of the timeout.
        gate: usize,
    },
    /// The execution has waited long enough.
    QueueTimeout {
        /// The execution.
        ticket: Key,
    },
    /// The rate limiter at which the execution is the first to wait has a permit for it.
    PermitDue {
        /// The execution.
        ticket: Key,
    },
    /// A sleep of no execution's is over.
    Sleep {
        /// The sleep.
        sleep: Key,
    },
}

/// Who watches the clock for deadlines armed from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The timer wheel.
    #[default]
    Wheel,
    /// The caller, one timer a deadline, told by [`Effect::Armed`] and [`Effect::Disarmed`]. For fake clocks:
    /// some test tools replace timers but no clock, so only the timer itself can say that its time has come.
    Outside,
}

/// An armed deadline.
#[derive(Clone, Copy, Debug)]
pub enum Timer {
    /// In the wheel.
    Wheel(Key),
    /// With the caller.
    Outside(Key),
}

/// The wheel and the deadlines that the caller watches.
#[derive(Debug, Default)]
pub struct Timers {
    wheel: Wheel<Alarm>,
    outside: Slab<Alarm>,
    /// Who gets the next deadline.
    pub driver: Driver,
}

impl Timers {
    /// Arms a deadline `delay_ms` from `now`, rounded up to a millisecond. An infinite one is none.
    pub fn arm(
        &mut self,
        now: Nanos,
        delay_ms: f64,
        alarm: Alarm,
        effects: &mut VecDeque<Effect>,
    ) -> Option<Timer> {
        if delay_ms == f64::INFINITY {
            return None;
        }
        Some(match self.driver {
            Driver::Wheel => Timer::Wheel(self.wheel.insert(now.plus_ms(delay_ms).ceil_ms(), alarm)),
            Driver::Outside => {
                let timer = self.outside.insert(alarm);
                effects.push_back(Effect::Armed { timer, delay_ms });
                Timer::Outside(timer)
            }
        })
    }

    /// Disarms a deadline; one that has fired is left alone.
    pub fn disarm(&mut self, timer: Timer, effects: &mut VecDeque<Effect>) {
        match timer {
            Timer::Wheel(key) => {
                self.wheel.remove(key);
            }
            Timer::Outside(key) => {
                if self.outside.remove(key).is_some() {
                    effects.push_back(Effect::Disarmed { timer: key });
                }
            }
        }
    }

    /// The next deadline of the wheel that is due.
    pub fn pop(&mut self, now: Nanos) -> Option<Alarm> {
        self.wheel.pop(now.floor_ms())
    }

    /// The deadline behind an outside timer that has fired.
    pub fn expire(&mut self, timer: Key) -> Option<Alarm> {
        self.outside.remove(timer)
    }

    /// The millisecond at which the wheel wants [`Timers::pop`].
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        self.wheel.next_tick()
    }
}
