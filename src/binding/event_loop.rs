//! What is told of the event loop's gate, for JavaScript.

use napi_derive::napi;

use super::cpu::thread_cpu_ms;
use super::thread::State;
use crate::core::clock::Nanos;
use crate::core::slab::Key;
use crate::core::turns::door::{News, Report};
use crate::core::turns::gate::Turns;
use crate::core::turns::processor::Sample;

/// Times in milliseconds. `limit` is infinite without a reason for one.
#[napi(object)]
pub struct NativeLoop {
    pub queued: f64,
    pub delay: f64,
    pub pace: f64,
    pub load: f64,
    pub limit: f64,
    pub inflight: u32,
    /// Requests of the door that have started.
    pub started: f64,
    /// Those that were turned away at once, after too long a wait, for more important ones, and by `closeDoor`.
    pub full: f64,
    pub queue_timeout: f64,
    pub dropped: f64,
    pub disposed: f64,
}

impl NativeLoop {
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn of(turns: &Turns, door: Key, now: Nanos) -> Self {
        let (live, refusals) = (turns.live(now), turns.refusals(door));
        Self {
            queued: live.queued as f64,
            delay: live.delay_ms,
            pace: live.pace_ms,
            load: live.load,
            limit: live.limit,
            inflight: live.inflight,
            started: turns.started(door) as f64,
            full: refusals.full as f64,
            queue_timeout: refusals.queue_timeout as f64,
            dropped: refusals.dropped as f64,
            disposed: refusals.disposed as f64,
        }
    }
}

/// The state of an overload. Times in milliseconds.
#[napi(object)]
pub struct NativeOverload {
    /// 0 for none, 1 when it has begun, 2 once a second while it lasts, 3 when it is over.
    pub news: u32,
    /// Requests of the door that were turned away since it began.
    pub refused: f64,
    /// Those that have started since.
    pub started: f64,
    /// How long it has lasted.
    pub duration: f64,
    /// In how many milliseconds to ask again; infinite once it is over.
    pub again: f64,
    /// The share of its busy time for which the thread had a processor; not there if that is not known.
    pub cpu_share: Option<f64>,
}

impl NativeOverload {
    /// What is to be told now.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn take(state: &mut State, door: Key, idle_ms: f64) -> Option<Self> {
        let now = state.clock.now();
        let Report { news, refused, started, duration_ms, again_ms } = state.turns.report(door, now)?;
        Some(Self {
            news: match news {
                News::Nothing => 0,
                News::Began => 1,
                News::Lasts => 2,
                News::Ended => 3,
            },
            refused: refused as f64,
            started: started as f64,
            duration: duration_ms,
            again: again_ms,
            cpu_share: cpu_sample(now, idle_ms).and_then(|sample| state.turns.processor_share(sample)),
        })
    }
}

/// The thread's processor time now, if the runtime tells how long the loop has slept.
pub fn cpu_sample(at: Nanos, idle_ms: f64) -> Option<Sample> {
    let cpu_ms = thread_cpu_ms()?;
    (idle_ms >= 0.0).then_some(Sample { at, idle_ms, cpu_ms })
}
