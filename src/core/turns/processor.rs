//! How much of its busy time a thread had the processor for.

use crate::core::clock::Nanos;

/// How far back the share looks, at least.
const SPAN_MS: f64 = 1000.0;
/// Less busy time says nothing.
const LEAST_MS: f64 = 1.0;

/// A look at both clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// How long the loop had slept until then.
    pub idle_ms: f64,
    /// How long the thread had run on a processor until then.
    pub cpu_ms: f64,
}

/// The last two looks that are at least a second apart.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    older: Option<Sample>,
    newer: Option<Sample>,
}

impl Processor {
    /// Whether a look is due.
    #[must_use]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.newer.is_none_or(|newer| now.ms_since(newer.at) >= SPAN_MS)
    }

    /// Keeps a look, if one is due.
    pub fn keep(&mut self, sample: Sample) {
        if self.is_due(sample.at) {
            self.older = self.newer.replace(sample);
        }
    }

    /// Thread time over busy time since the older look: 1 if the work is too much, less if others took the
    /// processor. `None` if too little is known.
    #[must_use]
    pub fn share(&self, now: Sample) -> Option<f64> {
        let since = self.older.or(self.newer)?;
        let busy = now.at.ms_since(since.at) - (now.idle_ms - since.idle_ms);
        (busy >= LEAST_MS).then(|| ((now.cpu_ms - since.cpu_ms) / busy).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn sample(ms: u64, idle_ms: f64, cpu_ms: f64) -> Sample {
        Sample { at: Nanos::new(ms * 1_000_000), idle_ms, cpu_ms }
    }

    #[test]
    fn it_is_thread_time_over_busy_time_of_the_last_second_or_two() {
        let mut processor = Processor::default();
        assert_eq!(processor.share(sample(0, 0.0, 0.0)), None);
        processor.keep(sample(0, 0.0, 0.0));
        processor.keep(sample(1000, 500.0, 500.0));
        assert!(!processor.is_due(Nanos::from_ms(1500.0)));
        processor.keep(sample(2000, 500.0, 800.0));
        assert_eq!(processor.share(sample(2100, 500.0, 830.0)), Some(0.3));
    }
}
