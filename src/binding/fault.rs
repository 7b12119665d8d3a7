//! Panics on purpose, for the tests of what comes after one. Without the feature `fault-injection`, which no
//! published build has, nothing here does anything.

#[cfg(all(feature = "fault-injection", not(test)))]
pub use injected::reach;

/// Where in an entry from JavaScript a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before its work.
    Before,
    /// After its work, before JavaScript has the answer.
    After,
}

/// Panics if a fault is armed for this moment of this entry.
#[cfg(not(all(feature = "fault-injection", not(test))))]
pub const fn reach(_: &str, _: Moment) {}

#[cfg(all(feature = "fault-injection", not(test)))]
mod injected {
    use std::cell::RefCell;

    use napi_derive::napi;

    use super::Moment;

    thread_local! {
        static ARMED: RefCell<Option<(String, Moment)>> = const { RefCell::new(None) };
    }

    /// Arms one fault on this thread, for the next call of `entry`.
    #[napi(catch_unwind)]
    pub fn arm_fault(entry: String, after: bool) {
        let moment = if after { Moment::After } else { Moment::Before };
        ARMED.set(Some((entry, moment)));
    }

    /// Whether the fault that was armed last has yet to strike.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn fault_is_armed() -> bool {
        ARMED.with_borrow(Option::is_some)
    }

    /// Panics if a fault is armed for this moment of this entry.
    pub fn reach(entry: &str, moment: Moment) {
        let strikes =
            ARMED.with_borrow(|armed| armed.as_ref().is_some_and(|(name, when)| name == entry && *when == moment));
        if strikes {
            ARMED.take();
            panic!("an injected fault in {entry}");
        }
    }
}
