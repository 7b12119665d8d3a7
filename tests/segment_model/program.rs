//! Random segments and random programs for them.

use proptest::prelude::*;
use resilience::core::algorithm::{Aimd, Algorithm, Gradient2, Vegas};
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::circuit_breaker::{Circuit, CircuitBreaker, Settings};
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::gate::rate_limiter::{RateLimiter, Rule};
use resilience::core::outcome::Outcomes;
use resilience::core::queue::Overflow;
use resilience::core::ticket::MAX_GATES;

/// How many keys the executions of a program have between them.
pub const KEYS: usize = 4;

/// A limiter's queue.
#[derive(Clone, Debug)]
pub struct Queue {
    limit: usize,
    timeout_ms: f64,
    overflow: Overflow,
}

/// How to make a gate, as often as needed.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// A fixed limiter.
    Fixed { limit: u32, queue: Queue },
    /// An adaptive limiter; its limit starts at `min + initial`.
    Adaptive { min: u32, initial: u32, algorithm: Algorithm, queue: Queue },
    /// A timeout.
    Deadline { timeout_ms: f64 },
    /// A circuit breaker.
    CircuitBreaker(Settings),
    /// A rate limiter.
    RateLimiter { rule: Rule, permits: u32, window_ms: f64, max_keys: usize, queue_limit: usize },
}

impl Recipe {
    /// Makes the gate.
    pub fn gate(&self) -> Gate {
        let permits =
            |limit, queue: &Queue| Concurrency::new(limit, queue.limit, queue.timeout_ms, queue.overflow);
        match self {
            Self::Fixed { limit, queue } => Gate::Concurrency(permits(*limit, queue)),
            Self::Adaptive { min, initial, algorithm, queue } => {
                let initial = min + initial;
                Gate::Adaptive(Adaptive::new(permits(initial, queue), algorithm.clone(), *min, initial + 4))
            }
            Self::Deadline { timeout_ms } => Gate::Deadline(Deadline { timeout_ms: *timeout_ms }),
            Self::CircuitBreaker(settings) => Gate::CircuitBreaker(CircuitBreaker::new(*settings)),
            Self::RateLimiter { rule, permits, window_ms, max_keys, queue_limit } => {
                Gate::RateLimiter(RateLimiter::new(*rule, *permits, *window_ms, *max_keys, *queue_limit))
            }
        }
    }

    /// Whether the gate learns from how an execution ends.
    pub const fn learns(&self) -> bool {
        matches!(self, Self::Adaptive { .. } | Self::CircuitBreaker(_))
    }

    /// What an execution may tell the gate, if it is the first one.
    pub const fn parameter(&self, choice: usize) -> f64 {
        if let Self::RateLimiter { .. } = self {
            return [0.0, 1.0, 2.0, 3.0][choice % KEYS];
        }
        let priorities_and_timeouts = [0.0, 1.0, 2.0, 7.5, 20.0, f64::INFINITY];
        priorities_and_timeouts[choice % priorities_and_timeouts.len()]
    }
}

/// One call of a segment's user. An execution is chosen among the open ones by an index taken modulo their
/// number.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A new execution, with the choice of what it tells the first gate.
    Enter(Option<usize>),
    /// An execution ends.
    Exit(usize, Outcomes),
    /// The first byte of an answer has left; whether the deadlines stay.
    Mark(usize),
    /// So many milliseconds pass.
    Advance(f64),
    /// The segment is disposed of.
    Dispose,
    /// The breaker at this gate, if it is one, is moved by hand.
    ByHand(usize, Hand),
}

/// What is done to a breaker by hand.
#[derive(Clone, Copy, Debug)]
pub enum Hand {
    /// Nothing passes any more.
    Isolate,
    /// Everything passes.
    Close,
    /// It takes a state over, with so many milliseconds of a break left.
    Restore(Circuit, f64),
}

fn queue() -> impl Strategy<Value = Queue> {
    let overflow = vec![Overflow::RejectNew, Overflow::DropOldest, Overflow::DropLowestPriority];
    let timeout_ms = vec![f64::INFINITY, f64::INFINITY, 3.0, 10.0, 25.5];
    (0..4_usize, prop::sample::select(timeout_ms), prop::sample::select(overflow))
        .prop_map(|(limit, timeout_ms, overflow)| Queue { limit, timeout_ms, overflow })
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(vec![
        Algorithm::Outside,
        Algorithm::Aimd(Aimd { increase: 2.0, backoff_ratio: 0.5 }),
        Algorithm::Gradient2(Gradient2::default()),
        Algorithm::Vegas(Vegas::default()),
        Algorithm::Knee(Box::default()),
    ])
}

prop_compose! {
    fn breaker()(
        failure_ratio in prop::sample::select(vec![0.3, 0.5, 1.0]),
        slow_call_ratio in prop::sample::select(vec![0.5, 1.0]),
        slow_call_ms in prop::sample::select(vec![f64::INFINITY, f64::INFINITY, 2.0, 5.5]),
        minimum_throughput in 1..6_u32,
        consecutive_failures in 0..4_u32,
        sampling_ms in prop::sample::select(vec![10.0, 100.0, 1000.0]),
        break_ms in prop::sample::select(vec![0.5, 1.0, 5.5, 30.0]),
        half_open_probes in 1..4_u32,
    ) -> Recipe {
        Recipe::CircuitBreaker(Settings {
            failure_ratio,
            slow_call_ratio,
            slow_call_ms,
            minimum_throughput,
            consecutive_failures,
            sampling_ms,
            break_ms,
            half_open_probes,
        })
    }
}

prop_compose! {
    fn rate_limiter()(
        rule in prop_oneof![
            Just(Rule::FixedWindow),
            Just(Rule::SlidingWindow),
            (1..5_u32).prop_map(|burst| Rule::TokenBucket { burst }),
        ],
        permits in prop_oneof![1..4_u32, Just(20)],
        window_ms in prop::sample::select(vec![0.4, 3.0, 10.0, 40.7]),
        max_keys in 1..=KEYS,
        queue_limit in 0..4_usize,
    ) -> Recipe {
        Recipe::RateLimiter { rule, permits, window_ms, max_keys, queue_limit }
    }
}

fn recipe() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        (1..4_u32, queue()).prop_map(|(limit, queue)| Recipe::Fixed { limit, queue }),
        (1..3_u32, 0..4_u32, algorithm(), queue()).prop_map(|(min, initial, algorithm, queue)| Recipe::Adaptive {
            min,
            initial,
            algorithm,
            queue
        }),
        prop::sample::select(vec![1.0, 2.0, 10.0, 30.25, f64::INFINITY])
            .prop_map(|timeout_ms| Recipe::Deadline { timeout_ms }),
        breaker(),
        rate_limiter(),
    ]
}

/// One to six gates.
pub fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    prop::collection::vec(recipe(), 1..=MAX_GATES)
}

fn hand() -> impl Strategy<Value = Hand> {
    let circuits = vec![Circuit::Closed, Circuit::Open, Circuit::HalfOpen, Circuit::Isolated];
    let restored = (prop::sample::select(circuits), prop::sample::select(vec![0.0, 0.7, 20.0]));
    prop_oneof![
        1 => Just(Hand::Isolate),
        3 => Just(Hand::Close),
        2 => restored.prop_map(|(circuit, left_ms)| Hand::Restore(circuit, left_ms)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let passing = prop::sample::select(vec![0.0, 0.3, 1.0, 2.0, 5.5, 10.0, 100.0]);
    prop_oneof![
        30 => prop::option::of(any::<usize>()).prop_map(Step::Enter),
        20 => (any::<usize>(), any::<u32>()).prop_map(|(index, bits)| Step::Exit(index, Outcomes(bits & 0xFFF))),
        4 => any::<usize>().prop_map(Step::Mark),
        12 => passing.prop_map(Step::Advance),
        1 => Just(Step::Dispose),
        2 => (0..MAX_GATES, hand()).prop_map(|(gate, hand)| Step::ByHand(gate, hand)),
    ]
}

/// A program.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}
