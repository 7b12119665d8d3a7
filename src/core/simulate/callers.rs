//! Who calls, and when.

use super::scenario::{Arrivals, Caller, Retries};
use crate::core::random::Random;

/// A user who was turned away waits at least this long.
const LEAST_PAUSE_MS: f64 = 1.0;

/// One kind of traffic, in the course of a run. Each draws from sources of its own, so that a limiter which
/// admits others does not change who comes.
#[derive(Debug)]
pub struct Source {
    arrivals: Arrivals,
    rate: f64,
    retries: Option<Retries>,
    gaps: Random,
    services: Random,
    cpus: Random,
    /// Changes of the rate; an arrival that was planned before the last one does not come.
    epoch: u32,
}

impl Source {
    /// The `index`th of a run with this seed.
    #[must_use]
    pub fn new(caller: &Caller, seed: u64, index: u64) -> Self {
        let mut seeds = Random::new(seed.wrapping_mul(0x0001_0001).wrapping_add(index));
        let [gaps, services, cpus] = [(); 3].map(|()| Random::new(seeds.bits()));
        Self {
            arrivals: caller.arrivals,
            rate: caller.rate,
            retries: caller.retries,
            gaps,
            services,
            cpus,
            epoch: 0,
        }
    }

    /// The source of service times.
    pub const fn services(&mut self) -> &mut Random {
        &mut self.services
    }

    /// The source of the times that the loop computes.
    pub const fn cpus(&mut self) -> &mut Random {
        &mut self.cpus
    }

    /// Changes the rate. The arrivals that were planned are void.
    pub const fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
        self.epoch += 1;
    }

    /// Names the present rate.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Users who start at once, in a closed loop; for others none.
    #[must_use]
    pub const fn users(&self) -> u32 {
        match self.arrivals {
            Arrivals::Closed { users, .. } => users,
            _ => 0,
        }
    }

    /// Calls that come together.
    #[must_use]
    pub const fn together(&self) -> u32 {
        match self.arrivals {
            Arrivals::Bursts { size } => size,
            _ => 1,
        }
    }

    /// Until the next arrival of an open loop; `None` for never.
    pub fn gap_ms(&mut self) -> Option<f64> {
        if self.rate <= 0.0 {
            return None;
        }
        let mean = 1000.0 / self.rate;
        match self.arrivals {
            Arrivals::Even => Some(mean),
            Arrivals::Poisson => Some(self.gaps.exponential(mean)),
            Arrivals::Bursts { size } => Some(self.gaps.exponential(mean * f64::from(size))),
            Arrivals::Closed { .. } => None,
        }
    }

    /// Until the user of a closed loop calls again.
    pub fn think_ms(&mut self, was_refused: bool) -> Option<f64> {
        let Arrivals::Closed { think_ms, .. } = self.arrivals else { return None };
        let pause = self.gaps.exponential(think_ms);
        Some(if was_refused { pause.max(LEAST_PAUSE_MS) } else { pause })
    }

    /// Until a call that failed comes again, after `attempts` further ones; `None` if it does not. Spread by half
    /// to either side, or all that failed together would come together.
    pub fn retry_ms(&mut self, attempts: u32) -> Option<f64> {
        let Retries { attempts: most, delay_ms, backoff } = self.retries?;
        let exponent = i32::try_from(attempts).unwrap_or(i32::MAX);
        (attempts < most).then(|| delay_ms * backoff.powi(exponent) * (0.5 + self.gaps.unit()))
    }
}
