//! Gates: what decides whether an execution may start, and learns how it ended.

pub mod adaptive;
pub mod concurrency;
pub mod deadline;

use adaptive::Adaptive;
use concurrency::Concurrency;
use deadline::Deadline;

/// One gate of a segment.
#[derive(Debug)]
pub enum Gate {
    /// A fixed number of permits.
    Concurrency(Concurrency),
    /// A number of permits that follows the measured latency.
    Adaptive(Adaptive),
    /// A deadline for what is inside.
    Deadline(Deadline),
}

impl Gate {
    /// How often an adaptive limiter has cut its limit.
    #[must_use]
    pub const fn cuts(&self) -> u32 {
        match self {
            Self::Adaptive(adaptive) => adaptive.cuts(),
            Self::Concurrency(_) | Self::Deadline(_) => 0,
        }
    }

    /// The permits of a limiter; `None` for any other gate.
    #[must_use]
    pub const fn permits(&self) -> Option<&Concurrency> {
        match self {
            Self::Concurrency(permits) | Self::Adaptive(Adaptive { permits, .. }) => Some(permits),
            Self::Deadline(_) => None,
        }
    }

    /// The permits of a limiter, to change; `None` for any other gate.
    pub const fn permits_mut(&mut self) -> Option<&mut Concurrency> {
        match self {
            Self::Concurrency(permits) | Self::Adaptive(Adaptive { permits, .. }) => Some(permits),
            Self::Deadline(_) => None,
        }
    }
}
