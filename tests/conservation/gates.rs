//! The segments of the run.

use resilience::core::algorithm::{Aimd, Algorithm, Gradient2};
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::circuit_breaker::{CircuitBreaker, Settings};
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::gate::rate_limiter::{RateLimiter, Rule};
use resilience::core::queue::Overflow;
use resilience::core::ticket::MAX_GATES;

use resilience::core::random::Random;

/// Uniform below `end`.
pub fn pick(random: &mut Random, end: usize) -> usize {
    usize::try_from(random.bits() >> 32).expect("32 bits") % end
}

fn fixed(limit: u32, queue: usize, queue_timeout_ms: f64, overflow: Overflow) -> Gate {
    Gate::Concurrency(Concurrency::new(limit, queue, queue_timeout_ms, overflow))
}

fn adaptive(queue: usize, algorithm: Algorithm) -> Gate {
    let permits = Concurrency::new(6, queue, 40.0, Overflow::DropLowestPriority);
    Gate::Adaptive(Adaptive::new(permits, algorithm, 1, 12))
}

const fn deadline(timeout_ms: f64) -> Gate {
    Gate::Deadline(Deadline { timeout_ms })
}

const fn breaker(slow_call_ms: f64, half_open_probes: u32) -> Gate {
    Gate::CircuitBreaker(CircuitBreaker::new(Settings {
        failure_ratio: 0.5,
        slow_call_ratio: 0.5,
        slow_call_ms,
        minimum_throughput: 5,
        consecutive_failures: 4,
        sampling_ms: 100.0,
        break_ms: 10.0,
        half_open_probes,
    }))
}

fn rate(rule: Rule, permits: u32, max_keys: usize, queue: usize) -> Gate {
    Gate::RateLimiter(RateLimiter::new(rule, permits, 12.5, max_keys, queue))
}

/// In these no deadline has two queues inside it, so that it is known where an execution queued that has run out
/// of time.
pub fn segments() -> Vec<Vec<Gate>> {
    vec![
        vec![rate(Rule::FixedWindow, 2, 3, 4)],
        vec![deadline(9.0), rate(Rule::SlidingWindow, 1, 1, 6)],
        vec![breaker(f64::INFINITY, 2), fixed(3, 2, 30.0, Overflow::DropOldest), deadline(20.0)],
        vec![
            rate(Rule::TokenBucket { burst: 3 }, 4, 2, 3),
            breaker(20.0, 3),
            fixed(9, 4, 8.0, Overflow::RejectNew),
            deadline(14.5),
            rate(Rule::SlidingWindow, 20, 1, 5),
        ],
        vec![fixed(3, 5, f64::INFINITY, Overflow::DropOldest)],
        vec![deadline(30.0), fixed(4, 4, 20.0, Overflow::RejectNew)],
        vec![adaptive(4, Algorithm::Aimd(Aimd::default())), deadline(25.0)],
        vec![fixed(8, 3, 15.0, Overflow::DropLowestPriority), adaptive(3, Algorithm::Outside), deadline(50.0)],
        vec![adaptive(4, Algorithm::Knee(Box::default())), deadline(25.0)],
        vec![
            fixed(5, 6, 60.0, Overflow::DropOldest),
            deadline(35.0),
            adaptive(2, Algorithm::Gradient2(Gradient2::default())),
            deadline(12.5),
        ],
    ]
}

/// One to six gates of any kind.
pub fn any_segment(random: &mut Random) -> Vec<Gate> {
    let gates = 1 + pick(random, MAX_GATES);
    (0..gates).map(|_| any_gate(random)).collect()
}

fn any_gate(random: &mut Random) -> Gate {
    let queue = pick(random, 5);
    let few = 1 + u32::try_from(pick(random, 4)).expect("few");
    let overflow = [Overflow::RejectNew, Overflow::DropOldest, Overflow::DropLowestPriority][pick(random, 3)];
    match pick(random, 8) {
        0 | 1 => fixed(2 * few, queue, [f64::INFINITY, 15.0][pick(random, 2)], overflow),
        2 => adaptive(queue, Algorithm::Outside),
        3 | 4 => deadline([3.0, 12.5, 40.0][pick(random, 3)]),
        5 => breaker([f64::INFINITY, 25.0][pick(random, 2)], few),
        _ => {
            let rule = [Rule::FixedWindow, Rule::SlidingWindow, Rule::TokenBucket { burst: few }][pick(random, 3)];
            rate(rule, 2 * few, 1 + pick(random, 4), queue)
        }
    }
}
