//! What the simulated tests share.

pub mod random;
pub mod simulator;
