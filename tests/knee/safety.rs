//! Whatever is measured, the limit is a number in its range.

use resilience::core::algorithm::knee::settings::Range;
use resilience::core::algorithm::{Knee, LimitAlgorithm, Sample};
use resilience::core::random::Random;

const SHORTEST_MS: f64 = 1e-3;
const LONGEST_MS: f64 = 1e8;

/// Latencies over eleven orders of magnitude, any number in flight, clocks that stand still or come late, starts
/// in the future, and more kinds of operations than are told apart.
fn nonsense(random: &mut Random, now_ms: f64) -> Sample {
    let rtt_ms = SHORTEST_MS * (LONGEST_MS / SHORTEST_MS).powf(random.unit());
    Sample {
        rtt_ms,
        inflight: [1, 2, 10, 1000, u32::MAX][(random.bits() % 5) as usize],
        dropped: random.unit() < 0.25,
        limit: f64::NAN,
        now_ms,
        started_ms: now_ms - rtt_ms * [1.0, 1.0, 0.0, -1.0][(random.bits() % 4) as usize],
        operation: (random.unit() < 0.5).then(|| random.bits().to_le_bytes()[0]),
    }
}

#[test]
fn the_limit_stays_a_number_in_its_range_whatever_is_measured() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let range = [(20.0, 1.0, 1000.0), (0.7, 0.25, 3.0), (5.0, 5.0, 5.0)][(seed % 3) as usize];
        let range = Range { initial: range.0, min: range.1, max: range.2 };
        let mut knee = Knee::default();
        knee.keep_within(range);
        let mut now_ms = 0.0;
        for index in 0..20_000 {
            now_ms += [0.0, 0.0, -1.0, 0.1, 10.0, 1e4][(random.bits() % 6) as usize];
            let sample = nonsense(&mut random, now_ms);
            let limit = knee.on_sample(sample);
            assert!(
                (range.min..=range.max).contains(&limit),
                "seed {seed}, sample {index}: {limit} after {sample:?}"
            );
        }
        let before = format!("{knee:?}");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let sample = nonsense(&mut random, now_ms);
            knee.on_sample(Sample { rtt_ms: bad, ..sample });
            knee.on_sample(Sample { now_ms: bad, ..sample });
            knee.on_sample(Sample { started_ms: bad, ..sample });
        }
        assert_eq!(format!("{knee:?}"), before);
    }
}
