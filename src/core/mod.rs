//! Admission decisions, free of JavaScript, threads and global clocks.
//!
//! Start at [`engine`]: it holds every [`segment`] (a run of adjacent [`gate`]s), every open [`ticket`] (one
//! execution inside a segment) and the [`timers`]. Time is an argument of every call, so the same code runs in
//! production and in simulated time.
//!
//! What happened besides the answer of a call (waiters admitted, deadlines passed, a limit moved) is left as
//! [`effect`]s for the caller to take.

#![forbid(unsafe_code)]

pub mod algorithm;
pub mod clock;
pub mod effect;
pub mod engine;
pub mod error;
pub mod gate;
pub mod outcome;
pub mod pauses;
pub mod queue;
pub mod random;
pub mod segment;
pub mod simulate;
pub mod slab;
pub mod ticket;
pub mod timers;
pub mod turns;
pub mod wheel;
