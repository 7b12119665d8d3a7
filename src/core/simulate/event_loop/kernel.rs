//! What the kernel holds until the loop polls.

use std::collections::VecDeque;

use crate::core::slab::Key;

/// Something that the poll phase takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A call to read.
    Call(Key),
    /// A call that has waited for the dependency.
    Continuation(Key),
}

/// The accept queue, and the sockets that have data.
#[derive(Debug)]
pub struct Kernel {
    backlog: usize,
    accept: VecDeque<Key>,
    ready: VecDeque<Ready>,
}

impl Kernel {
    /// Empty, with room for so many connections.
    #[must_use]
    pub const fn new(backlog: usize) -> Self {
        Self { backlog, accept: VecDeque::new(), ready: VecDeque::new() }
    }

    /// A call comes over a new connection; false if there is no room for it.
    #[must_use]
    pub fn connect(&mut self, call: Key) -> bool {
        let has_room = self.accept.len() < self.backlog;
        if has_room {
            self.accept.push_back(call);
        }
        has_room
    }

    /// A socket has data.
    pub fn push(&mut self, ready: Ready) {
        self.ready.push_back(ready);
    }

    /// Whether the poll phase would find nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accept.is_empty() && self.ready.is_empty()
    }

    /// Takes out all sockets that have data, in the order they got it.
    pub fn poll(&mut self) -> VecDeque<Ready> {
        std::mem::take(&mut self.ready)
    }

    /// Accepts the next connection. Its call can be read in the next turn.
    pub fn accept(&mut self) -> Option<Key> {
        let call = self.accept.pop_front()?;
        self.ready.push_back(Ready::Call(call));
        Some(call)
    }
}
