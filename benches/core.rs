//! What the core costs by itself: its queue with many waiters, and entering and leaving gates.

use std::hint::black_box;
use std::time::Instant;

use resilience::core::clock::Nanos;
use resilience::core::engine::Engine;
use resilience::core::gate::Gate;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::queue::{Overflow, Priority, WaiterQueue};
use resilience::core::segment::Entry;
use resilience::core::slab::Slab;
use resilience::core::timers::Driver;

const ROUNDS: u32 = 7;

fn main() {
    println!("nanoseconds a call, the best of {ROUNDS} rounds");
    println!("{:>10}{:>12}{:>12}{:>12}", "waiters", "enqueue", "grant", "remove");
    for waiters in [1, 100, 10_000, 1_000_000] {
        let times = best((0..ROUNDS).map(|_| queue(waiters)));
        println!("{waiters:>10}{:>12.0}{:>12.0}{:>12.0}", times[0], times[1], times[2]);
    }
    let both = best((0..ROUNDS).map(|_| [enter_and_exit(false), enter_and_exit(true), 0.0]));
    println!("enter and exit, a limiter:           {:>4.0}", both[0]);
    println!("enter and exit, limiter and timeout: {:>4.0}", both[1]);
}

fn best(rounds: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    rounds.fold([f64::INFINITY; 3], |best, times| std::array::from_fn(|index| best[index].min(times[index])))
}

fn time(calls: u32, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

/// Of priorities in no order, as many times as make a hundred thousand calls or more.
fn queue(waiters: u32) -> [f64; 3] {
    let (mut slab, mut sums) = (Slab::default(), [0.0; 3]);
    let repeats = (100_000 / waiters).max(1);
    let tickets: Vec<_> = (0..waiters).map(|_| slab.insert(())).collect();
    let priority = |index: u32| Priority::new(f64::from(index % 7919 % 101)).unwrap_or(Priority::DEFAULT);
    let mut queue = WaiterQueue::new(Overflow::RejectNew);
    for _ in 0..repeats {
        sums[0] += time(waiters, || {
            for (index, ticket) in (0..).zip(&tickets) {
                queue.push(priority(index), *ticket);
            }
        });
        sums[1] += time(waiters, || while black_box(queue.pop()).is_some() {});
        let ranks: Vec<_> =
            (0..).zip(&tickets).map(|(index, ticket)| queue.push(priority(index), *ticket)).collect();
        sums[2] += time(waiters, || {
            for rank in ranks {
                black_box(queue.remove(rank));
            }
        });
    }
    sums.map(|sum| sum / f64::from(repeats))
}

fn enter_and_exit(with_deadline: bool) -> f64 {
    const CALLS: u32 = 200_000;
    let mut engine = Engine::default();
    let mut gates = vec![Gate::Concurrency(Concurrency::new(10, 0, f64::INFINITY, Overflow::RejectNew))];
    if with_deadline {
        gates.push(Gate::Deadline(Deadline { timeout_ms: 5000.0 }));
    }
    let segment = engine.add_segment(gates).expect("few gates");
    time(CALLS, || {
        for call in 0..CALLS {
            engine.at(Nanos::new(u64::from(call) * 500), Driver::Wheel);
            let Ok(Entry::Running(ticket)) = engine.enter(segment, None) else { panic!("a permit is free") };
            black_box(engine.exit(ticket, Outcomes::all(Outcome::Success)).is_ok());
        }
    })
}
