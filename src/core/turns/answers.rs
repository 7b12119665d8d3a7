//! What the gate is asked, and what it answers.

use super::demand::LEVELS;
use crate::core::slab::Key;

/// A request at a door.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The door.
    pub door: Key,
    /// Its importance, see [`level`].
    pub level: usize,
    /// For how many milliseconds its client will still wait; infinite if that is not known.
    pub patience_ms: f64,
}

/// The answer to an offer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// It starts now.
    Start(Key),
    /// It waits.
    Wait(Key),
    /// It is turned away; a newcomer would wait for so many milliseconds.
    Refuse(f64),
}

/// What to do in a check phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// Nothing, and no check phase is wanted.
    Off,
    /// Let the loop turn: what came has to be read first.
    Again,
    /// Nothing now; a check phase is wanted in so many milliseconds, or when one of the other calls says so.
    Sleep(f64),
    /// Start requests.
    Work,
}

/// What an end brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing.
    Nothing,
    /// Somebody waits: a check phase is wanted.
    Check,
    /// The same, and after all jobs of the present callback [`acknowledge`](super::gate::Turns::acknowledge) may start one.
    Start,
}

/// What is known of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// Requests that wait.
    pub queued: usize,
    /// How long one that came now would wait, in milliseconds.
    pub delay_ms: f64,
    /// The loop's time for each start, in milliseconds.
    pub pace_ms: f64,
    /// What is offered over what the loop can do.
    pub load: f64,
    /// How many requests may be in flight; infinite without a reason for a limit.
    pub limit: f64,
    /// How many are.
    pub inflight: u32,
}

/// An importance as JavaScript gives it: rounded, and at least 0, the highest, and at most 7. NaN is 0.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; NaN becomes 0")]
pub fn level(number: f64) -> usize {
    (number.round() as usize).min(LEVELS - 1)
}
