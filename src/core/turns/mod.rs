//! Protects the event loop of a JavaScript thread: requests wait in a queue of ours, not in the kernel's, and start a
//! slice at a time.
//!
//! A loop that is short of time has queues that nobody sees: sockets with data, connections to accept, continuations
//! of what has begun. So the loop is made to turn fast, the kernel's queues are emptied first, and what was read
//! waits here, where everything is known of it: how many are ahead, how long each takes ([`pace`]), who is more
//! important ([`demand`]), and whether the loop bears one more that will compute later ([`flights`]).
//!
//! The order of calls in a turn of the loop:
//!
//! - in its poll phase [`offer`](gate::Turns::offer) for each request, [`connected`](gate::Turns::connected) for each connection, and
//!   [`end`](gate::Turns::end) for each request that has ended, or whose first byte has left, or whose client has gone;
//! - in its check phase [`turn`](gate::Turns::turn), and if that says so [`next`](gate::Turns::next) until it gives nobody. Each start is
//!   followed by all jobs of its handler before the next call;
//! - [`take_refused`](gate::Turns::take_refused) after any of them, as long as it gives somebody.
//!
//! A check phase is wanted after each offer, and as the answers of `turn` and `end` say.

pub mod answers;
pub mod cost;
pub mod demand;
pub mod door;
pub mod flights;
pub mod gate;
pub mod idle;
pub mod pace;
pub mod processor;
pub mod round;
pub mod slices;
pub mod waiters;

/// How long requests are started before the loop turns. Also how long the loop may be busy until requests that come
/// then are not let in at once.
const SLICE_MS: f64 = 5.0;
