//! Points in time as whole nanoseconds, exactly.

use crate::core::clock::Nanos;

const NANOS_PER_MS: u64 = 1_000_000;

/// Milliseconds of this many bits stay whole when they are multiplied into nanoseconds as a float.
const EXACT_BITS: u32 = 20;

/// The nanoseconds from the clock's origin to `at`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than a million")]
pub fn to_u64(at: Nanos) -> u64 {
    let ms = at.floor_ms();
    let rest = at.ms_since(whole_ms(ms)) * 1e6;
    ms * NANOS_PER_MS + rest.round() as u64
}

/// The point `nanos` nanoseconds after the clock's origin.
#[expect(clippy::cast_precision_loss, reason = "less than a million")]
pub fn from_u64(nanos: u64) -> Nanos {
    let rest = (nanos % NANOS_PER_MS) as f64;
    // The half is cut off again: without it a quotient that is rounded down would lose a nanosecond.
    whole_ms(nanos / NANOS_PER_MS).plus_ms((rest + 0.5) / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "each half has less than 53 bits, also in nanoseconds")]
fn whole_ms(ms: u64) -> Nanos {
    let low = ms % (1 << EXACT_BITS);
    Nanos::from_ms((ms - low) as f64).plus_ms(low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_from_the_first_nanosecond_to_the_last() {
        let far = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let dense = (0..100_000).map(|step| u64::MAX / 100_000 * step);
        for nanos in far.chain(dense).chain(0..3_000_000).chain(u64::MAX - 3_000_000..=u64::MAX) {
            assert_eq!(to_u64(from_u64(nanos)), nanos);
        }
        assert_eq!(from_u64(1_500_000), Nanos::from_ms(1.5));
        assert_eq!(from_u64(29), Nanos::from_ms(0.000_029_5));
        assert_eq!(from_u64(u64::MAX), Nanos::from_ms(f64::INFINITY));
    }
}
