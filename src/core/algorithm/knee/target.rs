//! How long the queue is meant to be.

/// A mean queue of `max(share * served, min(root * sqrt(served), most))` calls, where `served` is the number of
/// calls that are being worked on.
///
/// Arrivals at random need a queue of the order of the root of what is served to keep every worker busy; beyond
/// some calls more of it is only latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Less latency, for some throughput.
    Short,
    /// The default.
    Balanced,
    /// All of the throughput, for some latency.
    Long,
}

impl Queue {
    /// Root, most and share.
    const fn shape(self) -> [f64; 3] {
        match self {
            Self::Short => [1.2, 2.8, 0.1],
            Self::Balanced => [1.7, 4.2, 0.15],
            Self::Long => [2.4, 6.4, 0.25],
        }
    }

    /// The ratio of latency to its base that means such a queue. A limit of which on average only `inflight` is
    /// in use is that much further from binding, and so is its queue.
    #[must_use]
    pub fn target(self, served: f64, inflight: f64, limit: f64) -> f64 {
        let [root, most, share] = self.shape();
        let served = served.max(0.25);
        let slack = 0.4 * (limit - inflight).max(0.0);
        1.0 + (((root * served.sqrt()).min(most) + slack) / served).max(share)
    }
}
