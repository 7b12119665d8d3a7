//! The Rust core of `@ylcnfrht/resilience`, a resilience library for Node.js.
//!
//! [`core`] decides: admission, waiter queues, deadlines, adaptive limits. It knows nothing of Node.js and
//! takes time as an argument. The private `binding` module converts and forwards between it and JavaScript.

#![deny(unsafe_code)]

mod binding;
pub mod core;
