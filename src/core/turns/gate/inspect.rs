//! What the gate tells of itself.

use super::{Turns, count};
use crate::core::clock::Nanos;
use crate::core::slab::Key;
use crate::core::turns::answers::Live;
use crate::core::turns::door::{Door, Refusals, Report};
use crate::core::turns::processor::Sample;

impl Turns {
    /// What is to be told of a door's overload; `None` if there is none.
    pub fn report(&mut self, door: Key, now: Nanos) -> Option<Report> {
        self.doors.get_mut(door)?.report(now)
    }

    /// How many a door has turned away.
    #[must_use]
    pub fn refusals(&self, door: Key) -> Refusals {
        self.doors.get(door).map(Door::refusals).unwrap_or_default()
    }

    /// How many a door has let start.
    #[must_use]
    pub fn started(&self, door: Key) -> u64 {
        self.doors.get(door).map(Door::started).unwrap_or_default()
    }

    /// What is known of the loop.
    #[must_use]
    pub fn live(&self, now: Nanos) -> Live {
        let Self { flights, slices, waiters, demand, .. } = self;
        Live {
            queued: waiters.len(),
            delay_ms: count(waiters.len()) * slices.pace_ms(),
            pace_ms: slices.pace_ms(),
            load: demand.total_at(now) * self.each_ms(),
            limit: flights.limit(),
            inflight: flights.count(),
        }
    }

    /// Requests that wait for their start.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.waiters.len()
    }

    /// How many requests may be in flight; infinite without a reason for a limit.
    #[must_use]
    pub const fn limit(&self) -> f64 {
        self.flights.limit()
    }

    /// Requests that wait for [`Turns::take_refused`].
    #[must_use]
    pub fn untold(&self) -> usize {
        self.waiters.untold()
    }

    /// Requests that have not ended.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.waiters.open()
    }

    /// Whether the thread's processor time is wanted, for [`Turns::processor_share`].
    #[must_use]
    pub fn wants_processor_time(&self, now: Nanos) -> bool {
        self.processor.is_due(now)
    }

    /// Takes a look at the thread's processor time.
    pub fn keep_processor_time(&mut self, sample: Sample) {
        self.processor.keep(sample);
    }

    /// The share of its busy time for which the thread had a processor.
    #[must_use]
    pub fn processor_share(&self, now: Sample) -> Option<f64> {
        self.processor.share(now)
    }
}
