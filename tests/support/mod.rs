//! What the simulated tests share.

pub mod simulator;
