//! The timeout gate: it lets everything pass and arms a deadline.

/// How long an execution may take inside this gate.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// Milliseconds; an execution that states its own overrides it.
    pub timeout_ms: f64,
}
