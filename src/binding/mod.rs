//! Converts and forwards between the core and JavaScript; holds no logic.
//!
//! The cold half (build, configure, inspect) is napi classes. The hot half is plain closures over the thread's
//! [`thread::Thread`], made once when the package is loaded: a closure costs a third of a class method, and
//! scalars and one shared array a tenth of an object.

mod algorithm;
mod builder;
mod channel;
mod cpu;
mod event_loop;
mod fault;
mod guard;
mod hot;
mod provider;
mod simulation;
mod thread;
