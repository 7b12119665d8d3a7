//! How an execution ended, as a gate that learns from it reads it.

use super::ticket::MAX_GATES;

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

/// The [`Outcome`] for each gate of a segment, two bits a gate, the first gate lowest.
///
/// 0 is success, 1 drop, 2 no sample, 3 unhandled. Above these ([`MAX_GATES`] times two bits), the number of the execution's kind of
/// operation plus one, or zero for none, in nine bits. Above these, one for a callback that has ended when it
/// returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes(pub u32);

const OPERATION: usize = 2 * MAX_GATES;
const OPERATION_BITS: usize = 9;
const AT_ONCE: usize = OPERATION + OPERATION_BITS;

impl Outcomes {
    /// The same outcome for every gate.
    #[must_use]
    pub const fn all(outcome: Outcome) -> Self {
        let every_gate = (1 << OPERATION) - 1;
        Self(match outcome {
            Outcome::Success => 0,
            Outcome::Drop => 0x5555_5555 & every_gate,
            Outcome::NoSample => 0xAAAA_AAAA & every_gate,
            Outcome::Unhandled => every_gate,
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

    /// The same, of this kind of operation.
    #[must_use]
    pub const fn with_operation(self, operation: u8) -> Self {
        Self(self.0 | (operation as u32 + 1) << OPERATION)
    }

    /// The number of the kind of operation.
    #[must_use]
    pub fn operation(self) -> Option<u8> {
        let number = (self.0 >> OPERATION & ((1 << OPERATION_BITS) - 1)).checked_sub(1)?;
        Some(u8::try_from(number).unwrap_or(u8::MAX))
    }

    /// Whether the callback had ended when it returned: then all that it took is its own time, and no pause.
    #[must_use]
    pub const fn at_once(self) -> bool {
        self.0 >> AT_ONCE & 1 == 1
    }
}
