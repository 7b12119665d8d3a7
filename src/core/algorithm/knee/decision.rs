//! Why a limit moved.

/// What the controller did at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    Hold,
    /// The queue is shorter than meant, or the limiter is new.
    Grow,
    /// The queue is longer than meant.
    Trim,
    /// It is much longer; whether it is a queue at all the next window shows.
    Cut,
    /// The latency stayed: the dependency is slower, and the limit goes back up.
    Undo,
    /// The limit falls for a moment, to measure the base.
    Probe,
    /// The latency still fell: looks deeper.
    ProbeDeeper,
    /// The base is measured, and the limit comes back.
    ProbeEnd,
    /// Much was dropped; whether a lower limit helps the next window shows.
    LossCut,
    /// It did not help: the loss has another cause, and the limit goes back up.
    LossNotOurs,
    /// Nearly everything was dropped.
    Outage,
    /// After an outage, back to the old limit.
    Recover,
    /// The limit did not bind: room is made, or given back.
    Headroom,
}

/// What a window showed, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What was done.
    pub rule: Rule,
    /// The mean in flight.
    pub inflight: f64,
    /// The mean latency over the base; not a number if nobody was answered.
    pub latency_ratio: f64,
    /// The ratio that is aimed at.
    pub target: f64,
    /// The share of calls that were dropped.
    pub drops: f64,
    /// The limit before, fraction included.
    pub old_limit: f64,
    /// The limit from now on.
    pub new_limit: f64,
}
