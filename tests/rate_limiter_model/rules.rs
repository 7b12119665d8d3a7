//! The three rules, by a scan of every permit that was ever given. Times are in nanoseconds.

use resilience::core::clock::Nanos;
use resilience::core::gate::rate_limiter::Rule;

/// The point `nanos` nanoseconds after the origin.
pub const fn at(nanos: u64) -> Nanos {
    Nanos::new(nanos)
}

/// The first moment of a range from which on something holds, by bisection.
pub fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = u64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// What a limiter is made of.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub rule: Rule,
    pub permits: u32,
    pub window: u64,
    pub max_keys: usize,
    pub queue_limit: usize,
}

impl Settings {
    /// Whether a permit is due after those taken at `times`, by a scan of all of them.
    pub fn allows(self, times: &[u64], now: u64, window: u64) -> bool {
        let permits = u128::from(self.permits);
        match self.rule {
            Rule::FixedWindow => {
                let (mut start, mut taken) = (0, 0);
                for time in times.iter().copied().chain([now]) {
                    if taken == 0 || time >= start + window {
                        (start, taken) = (time, 0);
                    }
                    taken += 1;
                }
                taken <= self.permits
            }
            Rule::SlidingWindow => {
                let within = times.iter().filter(|time| *time + window > now).count();
                u128::try_from(within).is_ok_and(|within| within < permits)
            }
            Rule::TokenBucket { burst } => {
                // A level that is refilled from one permit to the next; one permit is `window`.
                let full = u128::from(burst) * u128::from(window);
                let (mut level, mut last) = (full, times.first().copied().unwrap_or(now));
                for time in times {
                    level = full.min(level + u128::from(time - last) * permits) - u128::from(window);
                    last = *time;
                }
                full.min(level + u128::from(now - last) * permits) >= u128::from(window)
            }
        }
    }

    /// The first moment from `now` on at which a permit is due.
    pub fn due(self, times: &[u64], now: u64, window: u64) -> u64 {
        first(now, now + 2 * window, |moment| self.allows(times, moment, window))
    }

    /// How long a permit of the limiter may be late.
    pub const fn slack(self) -> u64 {
        if matches!(self.rule, Rule::SlidingWindow) && self.permits > 16 { self.window / 15 } else { 0 }
    }

    /// How many permits could be taken at once.
    pub fn available(self, times: &[u64], now: u64, window: u64) -> u32 {
        let mut times = times.to_vec();
        let taken = std::iter::from_fn(|| {
            let allowed = self.allows(&times, now, window);
            times.push(now);
            allowed.then_some(())
        });
        u32::try_from(taken.count()).expect("few permits")
    }

    /// Whether all permits could be taken at once.
    pub fn is_idle(self, times: &[u64], now: u64) -> bool {
        let all = if let Rule::TokenBucket { burst } = self.rule { burst } else { self.permits };
        self.available(times, now, self.window) == all
    }
}
