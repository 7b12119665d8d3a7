//! Gates: what decides whether an execution may start, and learns how it ended.

pub mod adaptive;
pub mod circuit_breaker;
pub mod concurrency;
pub mod deadline;
pub mod rate_limiter;

use adaptive::Adaptive;
use circuit_breaker::CircuitBreaker;
use concurrency::Concurrency;
use deadline::Deadline;
use rate_limiter::RateLimiter;

use super::slab::Key;

/// One gate of a segment.
#[derive(Debug)]
pub enum Gate {
    /// A fixed number of permits.
    Concurrency(Concurrency),
    /// A number of permits that follows the measured latency.
    Adaptive(Adaptive),
    /// A deadline for what is inside.
    Deadline(Deadline),
    /// A circuit that opens when too much fails.
    CircuitBreaker(CircuitBreaker),
    /// A number of permits in a span of time, for each key.
    RateLimiter(RateLimiter),
}

impl Gate {
    /// How often an adaptive limiter has cut its limit.
    #[must_use]
    pub const fn cuts(&self) -> u32 {
        match self {
            Self::Adaptive(adaptive) => adaptive.cuts(),
            _ => 0,
        }
    }

    /// Whether it learns from how an execution ends.
    #[must_use]
    pub const fn learns(&self) -> bool {
        matches!(self, Self::Adaptive(_) | Self::CircuitBreaker(_))
    }

    /// Whether it learns from latency.
    #[must_use]
    pub const fn measures(&self) -> bool {
        match self {
            Self::Adaptive(_) => true,
            Self::CircuitBreaker(breaker) => breaker.watches_latency(),
            _ => false,
        }
    }

    /// The permits of a concurrency limiter; `None` for any other gate.
    #[must_use]
    pub const fn permits(&self) -> Option<&Concurrency> {
        match self {
            Self::Concurrency(permits) | Self::Adaptive(Adaptive { permits, .. }) => Some(permits),
            _ => None,
        }
    }

    /// The permits of a concurrency limiter, to change; `None` for any other gate.
    pub const fn permits_mut(&mut self) -> Option<&mut Concurrency> {
        match self {
            Self::Concurrency(permits) | Self::Adaptive(Adaptive { permits, .. }) => Some(permits),
            _ => None,
        }
    }

    /// Executions that wait at this gate.
    #[must_use]
    pub fn queued(&self) -> usize {
        match self {
            Self::RateLimiter(limiter) => limiter.queued(),
            gate => gate.permits().map_or(0, Concurrency::queued),
        }
    }

    /// Takes a waiter out of the gate's queue, whichever.
    pub fn evict_waiter(&mut self) -> Option<Key> {
        match self {
            Self::RateLimiter(limiter) => limiter.evict_waiter(),
            gate => gate.permits_mut().and_then(Concurrency::evict),
        }
    }
}
