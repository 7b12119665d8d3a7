//! How an execution ended, as an adaptive limiter reads it.

/// What one limiter learns from an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A latency sample.
    Success,
    /// A sign of overload: a timeout, a rejection further in, a transient error.
    Drop,
    /// Nothing: the caller went away, or the failure says nothing about load.
    NoSample,
}

/// The [`Outcome`] for each gate of a segment: two bits a gate, the first gate lowest; 0 success, 1 drop,
/// 2 or 3 no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes(pub u32);

impl Outcomes {
    /// The same outcome for every gate.
    #[must_use]
    pub const fn all(outcome: Outcome) -> Self {
        Self(match outcome {
            Outcome::Success => 0,
            Outcome::Drop => 0x5555_5555,
            Outcome::NoSample => 0xAAAA_AAAA,
        })
    }

    /// What the gate at `index` learns.
    #[must_use]
    pub const fn of(self, index: usize) -> Outcome {
        match self.0 >> (2 * index) & 3 {
            0 => Outcome::Success,
            1 => Outcome::Drop,
            _ => Outcome::NoSample,
        }
    }
}
