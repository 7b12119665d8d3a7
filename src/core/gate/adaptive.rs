//! A limiter whose limit follows what its executions measure.
//!
//! Three guards keep the limit honest, whatever the algorithm (`knee` alone, which has its own, is spared them):
//!
//! - An execution admitted before the last cut ran under the old, higher limit: it cannot cut again. One cut a
//!   round trip, as in TCP.
//! - While less than half the limit is in use, low latency proves nothing about more: the limit does not grow.
//! - The result is clamped to `[min, max]`; one that is not finite is ignored.

use super::concurrency::Concurrency;
use crate::core::algorithm::knee::decision::Decision;
use crate::core::algorithm::knee::settings::Range;
use crate::core::algorithm::{Algorithm, Sample};

/// What a sample did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The whole-number limit stands.
    Same,
    /// The whole-number limit moved.
    Moved {
        /// From here.
        old: u32,
        /// To here.
        new: u32,
    },
    /// The algorithm is not in the core; its answer is awaited.
    Pending,
}

/// Permits whose number an algorithm sets. Fractional inside, whole outside.
#[derive(Debug)]
pub struct Adaptive {
    /// The permits and their waiters.
    pub permits: Concurrency,
    algorithm: Algorithm,
    limit: f64,
    min: f64,
    max: f64,
    cuts: u32,
    /// Samples in a row that a pause of the thread has spoiled.
    spoiled: u32,
}

impl Adaptive {
    /// A limiter that starts with the limit of `permits` and stays within `[min, max]`, which must hold it.
    #[must_use]
    pub fn new(permits: Concurrency, mut algorithm: Algorithm, min: u32, max: u32) -> Self {
        let [initial, min, max] = [permits.limit(), min, max].map(f64::from);
        algorithm.keep_within(Range { initial, min, max });
        Self { permits, algorithm, limit: initial, min, max, cuts: 0, spoiled: 0 }
    }

    /// The exact limit, fraction included.
    #[must_use]
    pub const fn exact_limit(&self) -> f64 {
        self.limit
    }

    /// How often the limit was cut. An execution admitted after as many is one admitted since the last cut; a
    /// count tells that also where a clock stands still.
    #[must_use]
    pub const fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Whether to leave a sample out: nobody knows the latency of what was answered while the thread stood still.
    /// One pause spoils about as many samples as the limit lets in at once. A thread that spoils more of them in a
    /// row is always so slow, and what it measures is its load.
    pub const fn disregards(&mut self, spoiled: bool) -> bool {
        self.spoiled = if spoiled { self.spoiled.saturating_add(1) } else { 0 };
        spoiled && self.spoiled <= self.permits.limit().saturating_mul(2)
    }

    /// Feeds the sample of an execution that was admitted after `cuts` cuts to the algorithm.
    pub fn observe(&mut self, sample: Sample, cuts: u32) -> Observed {
        let Some(next) = self.algorithm.on_sample(sample) else { return Observed::Pending };
        if self.algorithm.guards_itself() {
            return self.move_to(next);
        }
        self.apply(next, sample, cuts)
    }

    /// Tells the algorithm a clock that other limiters of the same dependency share; see [`Algorithm::share_clock`].
    pub const fn share_clock(&mut self, offset_ms: f64) {
        self.algorithm.share_clock(offset_ms);
    }

    /// Why the last sample moved the limit or left it; see [`Algorithm::take_decision`].
    pub fn take_decision(&mut self) -> Option<Decision> {
        self.algorithm.take_decision()
    }

    /// Takes an algorithm's answer to `sample`, within the guards.
    pub fn apply(&mut self, next: f64, sample: Sample, cuts: u32) -> Observed {
        if !next.is_finite() {
            return Observed::Same;
        }
        let next = next.clamp(self.min, self.max);
        if next < self.limit {
            if cuts != self.cuts {
                return Observed::Same;
            }
            self.cuts = self.cuts.wrapping_add(1);
        } else if f64::from(sample.inflight) * 2.0 < self.limit {
            return Observed::Same;
        }
        self.move_to(next)
    }

    const fn move_to(&mut self, limit: f64) -> Observed {
        self.limit = limit;
        let old = self.permits.limit();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a range of u32")]
        let new = limit as u32;
        if new == old {
            return Observed::Same;
        }
        self.permits.set_limit(new);
        Observed::Moved { old, new }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::queue::Overflow;

    fn limiter(initial: u32) -> Adaptive {
        Adaptive::new(Concurrency::new(initial, 0, f64::INFINITY, Overflow::RejectNew), Algorithm::Outside, 2, 50)
    }

    fn sample(limiter: &Adaptive, inflight: u32) -> Sample {
        Sample { rtt_ms: 1.0, inflight, limit: limiter.exact_limit(), ..Sample::default() }
    }

    #[test]
    fn an_execution_admitted_before_the_last_cut_cannot_cut_again() {
        let mut gate = limiter(20);
        let sample = sample(&gate, 20);
        let before = gate.cuts();
        assert_eq!(gate.apply(10.0, sample, before), Observed::Moved { old: 20, new: 10 });
        assert_eq!(gate.apply(5.0, sample, before), Observed::Same);
        assert_eq!(gate.apply(5.0, sample, gate.cuts()), Observed::Moved { old: 10, new: 5 });
    }

    #[test]
    fn an_execution_admitted_before_the_last_cut_may_raise_the_limit() {
        let mut gate = limiter(20);
        let sample = sample(&gate, 20);
        gate.apply(10.0, sample, 0);
        assert_eq!(gate.apply(11.0, sample, 0), Observed::Moved { old: 10, new: 11 });
    }

    #[test]
    fn the_limit_does_not_grow_while_less_than_half_is_in_use() {
        let mut gate = limiter(20);
        let (idle, half) = (sample(&gate, 9), sample(&gate, 10));
        assert_eq!(gate.apply(30.0, idle, 0), Observed::Same);
        assert_eq!(gate.apply(30.0, half, 0), Observed::Moved { old: 20, new: 30 });
    }

    #[test]
    fn the_limit_stays_in_its_range_and_ignores_what_is_no_number() {
        let mut gate = limiter(20);
        let sample = sample(&gate, 50);
        for nonsense in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(gate.apply(nonsense, sample, 0), Observed::Same);
        }
        assert_eq!(gate.apply(1e9, sample, 0), Observed::Moved { old: 20, new: 50 });
        assert_eq!(gate.apply(-1e9, sample, 0), Observed::Moved { old: 50, new: 2 });
    }

    #[test]
    fn a_fraction_moves_the_exact_limit_only() {
        let mut gate = limiter(20);
        let sample = sample(&gate, 20);
        assert_eq!(gate.apply(20.9, sample, 0), Observed::Same);
        assert!((gate.exact_limit() - 20.9).abs() < f64::EPSILON);
        assert_eq!(gate.permits.limit(), 20);
    }
}
