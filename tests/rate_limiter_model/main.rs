//! The rate limiter against lists of every permit that it ever gave.

mod pair;
mod rules;

use proptest::prelude::*;
use resilience::core::gate::rate_limiter::{RateLimiter, Rule, Turn};
use resilience::core::slab::Slab;

use pair::{Pair, Step};
use rules::{Settings, at};

/// Windows in milliseconds, and in nanoseconds: from less than a millisecond to forty days.
const WINDOWS: [(f64, u64); 6] = [
    (0.000_016, 16),
    (0.25, 250_000),
    (1.0, 1_000_000),
    (7.0, 7_000_000),
    (60_000.0, 60_000_000_000),
    (3_456_000_000.0, 3_456_000_000_000_000),
];

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..6_u64;
    prop_oneof![
        12 => key().prop_map(Step::Acquire),
        12 => Just(Step::Acquire(0)),
        3 => key().prop_map(Step::Insist),
        3 => key().prop_map(Step::Serve),
        2 => any::<usize>().prop_map(Step::Abandon),
        2 => key().prop_map(Step::Inspect),
        4 => (0..80_u64).prop_map(Step::Pass),
        2 => (0..3_u64).prop_map(Step::Tick),
        1 => (1..5_u64).prop_map(Step::Jump),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        Just(Rule::FixedWindow),
        Just(Rule::SlidingWindow),
        (1..20_u32).prop_map(|burst| Rule::TokenBucket { burst }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn gives_a_permit_exactly_when_a_scan_of_all_permits_would(
        rule in rule(),
        permits in prop_oneof![1..5_u32, 1..24_u32],
        (window_ms, window) in prop::sample::select(WINDOWS.to_vec()),
        max_keys in 1..6_usize,
        queue_limit in prop_oneof![Just(0), 1..4_usize],
        start in prop::sample::select(vec![0, 1 << 60]),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let settings = Settings { rule, permits, window, max_keys, queue_limit };
        let mut pair = Pair::new(settings, window_ms, start);
        for step in steps {
            pair.step(step)?;
        }
        pair.dispose()?;
    }

    #[test]
    fn after_a_clock_went_back_nobody_waits_for_longer_than_from_a_key_just_used_up(
        rule in rule(),
        permits in 1..24_u32,
        times in prop::collection::vec(0..5000_u64, 1..100),
    ) {
        let (mut limiter, mut tickets) = (RateLimiter::new(rule, permits, 0.001, 1, 0), Slab::default());
        let refill = if let Rule::TokenBucket { burst } = rule {
            (1000 * u64::from(burst)).div_ceil(permits.into())
        } else {
            1000
        };
        for now in times {
            let turn = limiter.acquire(7, tickets.insert(()), at(now));
            prop_assert!(limiter.reset_at(7, at(now)) <= at(now + refill));
            if let Turn::Refused { retry_at } = turn {
                prop_assert!(at(now) < retry_at && retry_at <= at(now + 1000));
                prop_assert!(limiter.available(7, retry_at) > 0);
            }
        }
    }
}

#[test]
fn a_million_keys_need_no_more_entries_than_allowed() {
    for rule in [Rule::FixedWindow, Rule::SlidingWindow, Rule::TokenBucket { burst: 2 }] {
        let (mut limiter, mut tickets) = (RateLimiter::new(rule, 2, 1000.0, 500, 0), Slab::default());
        let ticket = tickets.insert(());
        for key in 0..1_000_000 {
            assert_eq!(limiter.acquire(key, ticket, at(key)), Turn::Granted);
            assert!(limiter.keys() <= 500);
        }
        assert_eq!((limiter.keys(), limiter.evictions()), (500, 999_500));
        assert_eq!(limiter.available(999_999, at(1_000_000)), 1);
        assert_eq!(limiter.available(0, at(1_000_000)), 2);
    }
}
