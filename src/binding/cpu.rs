//! The processor time of a thread.

/// How long the calling thread has run on a processor, in milliseconds.
#[cfg(unix)]
#[expect(clippy::cast_precision_loss, reason = "a thread runs for less than 2^53 seconds")]
#[expect(clippy::unnecessary_wraps, reason = "not every system tells")]
pub fn thread_cpu_ms() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6)
}

/// Not known here.
#[cfg(not(unix))]
pub const fn thread_cpu_ms() -> Option<f64> {
    None
}
