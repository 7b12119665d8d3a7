//! The protection of the event loop in simulated time: the real gate in a loop that turns as Node's does.

mod after_io;
mod calm;
mod open_ended;
mod overload;
mod priorities;
mod support;
