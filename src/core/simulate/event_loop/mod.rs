//! An event loop in simulated time: calls that are short of the thread that runs them.
//!
//! A turn of the loop, as in libuv: timers; poll, which sleeps while nothing is ready, then accepts connections (one a
//! turn, or all), reads calls, and runs what waited for the dependency, in the order it became ready; and the check
//! phase, in which the real [`turns`](crate::core::turns) start calls. All of it takes the thread's time. What comes
//! meanwhile waits in the [`kernel`].

pub mod gate;
pub mod kernel;
pub mod world;
