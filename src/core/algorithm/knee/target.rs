//! How long the queue is meant to be.

/// A mean queue of `max(share * served, min(root * sqrt(served), most))` calls, where `served` is the number of
/// calls that are being worked on.
///
/// Arrivals at random need a queue of the order of the root of what is served to keep every worker busy; beyond
/// some calls more of it is only latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Above 0.
    pub root: f64,
    /// In calls, above 0.
    pub most: f64,
    /// Above 0.
    pub share: f64,
}

impl Queue {
    /// Less latency, for some throughput.
    pub const SHORT: Self = Self { root: 1.2, most: 2.8, share: 0.1 };
    /// The default.
    pub const BALANCED: Self = Self { root: 1.7, most: 4.2, share: 0.15 };
    /// All of the throughput, for some latency.
    pub const LONG: Self = Self { root: 2.4, most: 6.4, share: 0.25 };

    /// The ratio of latency to its base that means such a queue. A limit of which on average only `inflight` is
    /// in use is that much further from binding, and so is its queue.
    #[must_use]
    pub fn target(&self, served: f64, inflight: f64, limit: f64) -> f64 {
        let served = served.max(0.25);
        let slack = 0.4 * (limit - inflight).max(0.0);
        1.0 + (((self.root * served.sqrt()).min(self.most) + slack) / served).max(self.share)
    }
}
