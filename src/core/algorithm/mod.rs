//! Limit algorithms: a sample in, the next limit out.

pub mod aimd;
pub mod gradient2;
pub mod knee;
pub mod vegas;

pub use aimd::Aimd;
pub use gradient2::Gradient2;
pub use knee::Knee;
pub use vegas::Vegas;

use knee::decision::Decision;
use knee::settings::Range;

/// What one finished execution tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its latency in milliseconds.
    pub rtt_ms: f64,
    /// Executions in flight when it finished, itself included.
    pub inflight: u32,
    /// Whether it ended in a sign of overload.
    pub dropped: bool,
    /// The limit at that moment, fraction included.
    pub limit: f64,
    /// When it finished, in milliseconds of a clock that never goes back.
    pub now_ms: f64,
    /// When it was admitted, by the same clock.
    pub started_ms: f64,
    /// The number of its kind of operation, where the caller tells kinds apart.
    pub operation: Option<u8>,
}

/// Computes the next concurrency limit. Stateful: one instance a limiter, which clamps the result.
pub trait LimitAlgorithm {
    /// The next limit, in permits; a fraction is fine.
    fn on_sample(&mut self, sample: Sample) -> f64;
}

/// The algorithm of one limiter.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// Short-term latency against a long-term baseline.
    Gradient2(Gradient2),
    /// An estimate of the dependency's queue.
    Vegas(Vegas),
    /// Drops only.
    Aimd(Aimd),
    /// A mean queue of a few calls. Boxed: it is ten times the size of the others.
    Knee(Box<Knee>),
    /// Not in the core: the caller is asked by [`Effect::Sampled`](super::effect::Effect::Sampled).
    Outside,
}

impl Algorithm {
    /// The next limit; `None` if the algorithm is not in the core.
    pub fn on_sample(&mut self, sample: Sample) -> Option<f64> {
        match self {
            Self::Gradient2(algorithm) => Some(algorithm.on_sample(sample)),
            Self::Vegas(algorithm) => Some(algorithm.on_sample(sample)),
            Self::Aimd(algorithm) => Some(algorithm.on_sample(sample)),
            Self::Knee(algorithm) => Some(algorithm.on_sample(sample)),
            Self::Outside => None,
        }
    }

    /// Tells the limits between which its limiter stays, if it wants to know.
    pub const fn keep_within(&mut self, range: Range) {
        if let Self::Knee(algorithm) = self {
            algorithm.keep_within(range);
        }
    }

    /// Tells what has to be added to samples' times for a clock that other limiters of the same dependency share,
    /// if it wants to know.
    pub const fn share_clock(&mut self, offset_ms: f64) {
        if let Self::Knee(algorithm) = self {
            algorithm.share_clock(offset_ms);
        }
    }

    /// Whether the algorithm itself knows how far a sample may move the limit, and keeps it in its range.
    #[must_use]
    pub const fn guards_itself(&self) -> bool {
        matches!(self, Self::Knee(_))
    }

    /// Why the limit moved or stayed, where the last sample decided that and the algorithm can tell.
    pub fn take_decision(&mut self) -> Option<Decision> {
        match self {
            Self::Knee(algorithm) => algorithm.take_decision(),
            _ => None,
        }
    }
}
