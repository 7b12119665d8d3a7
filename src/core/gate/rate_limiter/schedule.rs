//! What the rules have in common.

use std::fmt::Debug;

/// When the permits of a key are due. Times are in nanoseconds.
///
/// Time never goes back, except where a test has replaced the clock and puts it back. A rule then moves what
/// lies in the future to the present, so that nobody is locked out for longer than from a key just used up.
pub trait Schedule {
    /// What is remembered of a key. The default is a key that was never seen.
    type State: Debug + Default;

    /// Takes a permit, if one is due. A key that was never seen always has one.
    fn take(&self, state: &mut Self::State, now: u64) -> bool;

    /// The first moment, now or later, at which a permit is due.
    fn due(&self, state: &Self::State, now: u64) -> u64;

    /// How many permits are due now.
    fn available(&self, state: &Self::State, now: u64) -> u32;

    /// The first moment, now or later, at which all permits are due.
    fn reset_at(&self, state: &Self::State, now: u64) -> u64;

    /// Whether nothing would be lost by forgetting the key.
    fn is_idle(&self, state: &Self::State, now: u64) -> bool;
}
