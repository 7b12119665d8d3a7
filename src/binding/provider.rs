//! Reads one adaptive limiter from outside its pipeline.

use napi::{Error, Result, Status};
use napi_derive::napi;

use super::fault::{Moment, reach};
use super::thread::{Handle, State};
use crate::core::gate::concurrency::Concurrency;
use crate::core::slab::Key;

/// The live state of one adaptive limiter; all zero until it is attached.
#[napi]
#[derive(Default)]
pub struct AdaptiveLimitProvider {
    limiter: Option<(Handle, Key, usize)>,
}

#[napi]
impl AdaptiveLimitProvider {
    /// Not attached yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        reach("AdaptiveLimitProvider", Moment::Before);
        Self::default()
    }

    /// The number of permits.
    #[napi(getter, catch_unwind)]
    pub fn limit(&self) -> Result<u32> {
        self.read(Concurrency::limit)
    }

    /// Executions that hold a permit.
    #[napi(getter, catch_unwind)]
    pub fn inflight(&self) -> Result<u32> {
        self.read(Concurrency::in_flight)
    }

    /// Executions that wait for a permit.
    #[napi(getter, catch_unwind)]
    pub fn queued(&self) -> Result<u32> {
        self.read(|permits| u32::try_from(permits.queued()).unwrap_or(u32::MAX))
    }

    /// False if it is attached already.
    pub(super) fn attach(&mut self, handle: &Handle, segment: Key, gate: usize) -> bool {
        if self.limiter.is_some() {
            return false;
        }
        self.limiter = Some((handle.clone(), segment, gate));
        true
    }

    fn read(&self, read: fn(&Concurrency) -> u32) -> Result<u32> {
        let Some((handle, segment, gate)) = &self.limiter else { return Ok(0) };
        let look = |state: &State| {
            reach("AdaptiveLimitProvider.read", Moment::Before);
            state.engine.permits(*segment, *gate).map_or(0, read)
        };
        handle.read(look).ok_or_else(|| Error::new(Status::GenericFailure, handle.fault()))
    }
}
