//! Callers, limiters and a dependency in simulated time.
//!
//! Discrete events, seeded: the same [`scenario::Scenario`] and seed give the same [`record::Record`] on every
//! machine. The limiters are no copies: calls go through the real [`engine`](super::engine), with its queue,
//! priorities and deadlines. Times are in milliseconds.
//!
//! [`world`] plays a scenario, and [`event_loop`] one in which calls are short of the thread that runs them; [`callers`] come, [`dependency`] serves; [`record`] keeps what happened, and
//! [`figures`] and [`series`] tell it in numbers.

pub mod callers;
pub mod dependency;
pub mod event_loop;
pub mod figures;
pub mod plan;
pub mod record;
pub mod scenario;
pub mod series;
pub mod service;
pub mod world;
