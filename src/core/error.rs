//! Misuse of the engine by its caller. None of these can be caused by a user's input.

use thiserror::Error;

/// A call that does not fit the engine's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The execution has ended already.
    #[error("the ticket is stale: its execution has ended")]
    StaleTicket,
    /// No segment has this key.
    #[error("there is no such segment")]
    UnknownSegment,
    /// No door has this key.
    #[error("there is no such door")]
    UnknownDoor,
    /// The gate is missing or of another kind.
    #[error("the segment has no such gate at {0}")]
    WrongGate(usize),
    /// A segment holds too many gates.
    #[error("a segment holds 1 to {max} gates, not {0}", max = super::ticket::MAX_GATES)]
    GateCount(usize),
}
