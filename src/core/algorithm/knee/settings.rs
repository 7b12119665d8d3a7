//! What a controller is given.

use super::target::Queue;

/// What users tune.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How many times the mean in flight the limit is lifted to while it does not bind. At least 0, which
    /// switches that off.
    pub headroom: f64,
    /// The queue that is aimed at.
    pub queue: Queue,
}

impl Default for Settings {
    fn default() -> Self {
        Self { headroom: 4.5, queue: Queue::Balanced }
    }
}

/// Where the limit begins and may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The first limit.
    pub initial: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}
