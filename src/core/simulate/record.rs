//! What happened in a run.

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an answer.
    Answered,
    /// Turned away by the limiter.
    Refused,
    /// The same, while a worker of the dependency had nothing to do.
    RefusedIdle,
    /// By the timeout.
    TimedOut,
    /// The dependency failed it.
    Lost,
    /// Not before the end of the run.
    Open,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// When it ended.
    pub ended_ms: f64,
    /// How long after it came.
    pub took_ms: f32,
    /// Which caller's it was.
    pub caller: u8,
    /// How it ended.
    pub end: End,
}

impl Call {
    /// When it came.
    #[must_use]
    pub fn came_ms(&self) -> f64 {
        self.ended_ms - f64::from(self.took_ms)
    }
}

/// The sums over time of what the limiters held, up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// The moment.
    pub at_ms: f64,
    /// Of the limits, times milliseconds.
    pub limit: f64,
    /// Of the calls in flight.
    pub inflight: f64,
}

/// All of a run.
#[derive(Debug, Default)]
pub struct Record {
    /// Every call, in the order they ended.
    pub calls: Vec<Call>,
    /// Each sum of the clients' limits, and when it began.
    pub limits: Vec<(f64, u32)>,
    /// At every moment that was asked for.
    pub marks: Vec<Mark>,
}

impl Record {
    /// The means of limit and calls in flight between two moments that were asked for.
    #[must_use]
    pub fn means(&self, from_ms: f64, to_ms: f64) -> (f64, f64) {
        let [from, to] = [from_ms, to_ms].map(|at| {
            let index = self.marks.partition_point(|mark| mark.at_ms < at);
            self.marks.get(index).or_else(|| self.marks.last()).copied().unwrap_or_default()
        });
        let span = to.at_ms - from.at_ms;
        ((to.limit - from.limit) / span, (to.inflight - from.inflight) / span)
    }
}
