//! How an execution ended, as a gate that learns from it reads it.

/// What one gate learns from an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It failed in the way that the gate watches for: a sign of overload, or of a dependency that is down.
    Drop,
    /// Nothing: the caller went away.
    NoSample,
    /// It failed in another way, which says nothing about load, and that the dependency does answer.
    Unhandled,
}

/// The [`Outcome`] for each gate of a segment: two bits a gate, the first gate lowest; 0 success, 1 drop,
/// 2 no sample, 3 unhandled.
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
            Outcome::Unhandled => 0xFFFF_FFFF,
        })
    }

    /// What the gate at `index` learns.
    #[must_use]
    pub const fn of(self, index: usize) -> Outcome {
        match self.0 >> (2 * index) & 3 {
            0 => Outcome::Success,
            1 => Outcome::Drop,
            2 => Outcome::NoSample,
            _ => Outcome::Unhandled,
        }
    }
}
