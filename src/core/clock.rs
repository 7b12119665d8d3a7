//! Time as the core sees it: nanoseconds since an arbitrary origin, never going back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

const NANOS_PER_MS: f64 = 1e6;

/// A point in time, in nanoseconds since the clock's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(u64);

impl Nanos {
    /// The point `ms` milliseconds after the origin. Negative and NaN become the origin; fractions are kept.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float to integer cast saturates, which is what is wanted"
    )]
    pub const fn from_ms(ms: f64) -> Self {
        Self((ms * NANOS_PER_MS) as u64)
    }

    /// The point `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds from the origin to this point.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Milliseconds from the origin to this point.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact to a nanosecond for 104 days, to a microsecond for 285 years"
    )]
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / NANOS_PER_MS
    }

    /// The time from `earlier` to this point; zero if `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Milliseconds from `earlier` to this point; zero if `earlier` is the later one.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> f64 {
        self.since(earlier).as_ms()
    }

    /// This point moved `ms` milliseconds into the future, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: f64) -> Self {
        Self(self.0.saturating_add(Self::from_ms(ms).0))
    }

    /// The last whole millisecond that has begun at this point.
    #[must_use]
    pub const fn floor_ms(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The first whole millisecond that begins at or after this point.
    #[must_use]
    pub const fn ceil_ms(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }
}

/// The machine's monotonic clock, counted from the moment of its making. Wall-clock changes do not move it.
#[derive(Debug)]
pub struct MonotonicClock {
    origin: Instant,
    /// Milliseconds from the Unix epoch to the origin, as the machine then had it.
    epoch_ms: f64,
}

impl MonotonicClock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        let epoch_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| 1e3 * since.as_secs_f64());
        Self { origin: Instant::now(), epoch_ms }
    }

    /// What has to be added to this clock's milliseconds for a clock that other processes have as well.
    #[must_use]
    pub const fn shared_offset_ms(&self) -> f64 {
        self.epoch_ms
    }

    /// The time since the start.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "64 bits of nanoseconds last 584 years")]
    pub fn now(&self) -> Nanos {
        Nanos(self.origin.elapsed().as_nanos() as u64)
    }
}
