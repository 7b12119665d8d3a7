//! Limit algorithms: a sample in, the next limit out.

pub mod aimd;
pub mod gradient2;
pub mod vegas;

pub use aimd::Aimd;
pub use gradient2::Gradient2;
pub use vegas::Vegas;

/// What one finished execution tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its latency in milliseconds.
    pub rtt_ms: f64,
    /// Executions in flight when it finished, itself included.
    pub inflight: u32,
    /// Whether it ended in a sign of overload.
    pub dropped: bool,
    /// The limit at that moment, fraction included.
    pub limit: f64,
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
            Self::Outside => None,
        }
    }
}
