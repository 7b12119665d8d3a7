//! Random segments and random programs for them.

use proptest::prelude::*;
use resilience::core::algorithm::{Aimd, Algorithm, Gradient2, Vegas};
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::outcome::Outcomes;
use resilience::core::queue::Overflow;

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
        }
    }
}

/// One call of a segment's user. An execution is chosen among the open ones by an index taken modulo their
/// number.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A new execution, with what it tells the first gate.
    Enter(Option<f64>),
    /// An execution ends.
    Exit(usize, Outcomes),
    /// The first byte of an answer has left; whether the deadlines stay.
    Mark(usize),
    /// So many milliseconds pass.
    Advance(f64),
    /// The segment is disposed of.
    Dispose,
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
    ])
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
    ]
}

/// One to four gates.
pub fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    prop::collection::vec(recipe(), 1..=4)
}

fn step() -> impl Strategy<Value = Step> {
    let parameter = prop::option::of(prop::sample::select(vec![0.0, 1.0, 2.0, 7.5, 20.0, f64::INFINITY]));
    let passing = prop::sample::select(vec![0.0, 0.3, 1.0, 2.0, 5.5, 10.0, 100.0]);
    prop_oneof![
        30 => parameter.prop_map(Step::Enter),
        20 => (any::<usize>(), any::<u32>()).prop_map(|(index, bits)| Step::Exit(index, Outcomes(bits))),
        4 => any::<usize>().prop_map(Step::Mark),
        12 => passing.prop_map(Step::Advance),
        1 => Just(Step::Dispose),
    ]
}

/// A program.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}
