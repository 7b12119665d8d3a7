//! What a span of a run comes to, in numbers.

use super::record::{Call, End, Record};
use super::scenario::{EventLoop, Phase, Scenario, Stall};

/// Recovery is judged by the goodput of so much time.
const RECOVERY_SPAN_MS: f64 = 5_000.0;
const RECOVERY_STEP_MS: f64 = 50.0;
const RECOVERED: f64 = 0.95;

/// A span of a run. Not a number where there is nothing to tell. Shares are in `[0, 1]`, times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Calls that came, a second; attempts again included.
    pub offered: f64,
    /// Answers, a second.
    pub throughput: f64,
    /// Answers within the deadline: the share of the dependency's capacity, or of the calls where these are fewer.
    pub goodput: f64,
    /// Half of the answers took no longer.
    pub p50: f64,
    /// 99 % of the answers took no longer.
    pub p99: f64,
    /// The mean of the answers.
    pub mean_latency: f64,
    /// The share of calls that were turned away.
    pub rejected: f64,
    /// The share that was turned away while a worker of the dependency had nothing to do, or the event loop slept.
    pub false_rejects: f64,
    /// 99 % of the calls that were turned away were told within this time.
    pub rejected_p99: f64,
    /// The share that the timeout ended.
    pub timed_out: f64,
    /// The share that the dependency failed.
    pub lost: f64,
    /// The mean of the clients' limits, added up.
    pub limit: f64,
    /// The mean in flight.
    pub inflight: f64,
    /// How often a limit fell.
    pub cuts: f64,
    /// From the beginning until goodput was 95 % for 5 s; not a number if it never was.
    pub recovery: f64,
    /// How evenly goodput is spread over clients, by R. Jain, "A Quantitative Measure of Fairness and
    /// Discrimination for Resource Allocation" (1984): 1 is evenly. Not a number with one client.
    pub fairness: f64,
    /// For each caller.
    pub callers: Vec<CallerFigures>,
}

/// What one caller met with.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerFigures {
    /// Calls that came, a second.
    pub offered: f64,
    /// The share that was answered within the deadline.
    pub goodput: f64,
    /// The share that was turned away.
    pub rejected: f64,
    /// 99 % of the answers took no longer.
    pub p99: f64,
}

/// The figures of a span, whose ends must be marked in the record.
#[must_use]
pub fn figures(scenario: &Scenario, record: &Record, from_ms: f64, to_ms: f64) -> Figures {
    let span = to_ms - from_ms;
    let within = |at: f64| (from_ms..to_ms).contains(&at);
    let came: Vec<&Call> = record.calls.iter().filter(|call| within(call.came_ms())).collect();
    let answers: Vec<&Call> =
        record.calls.iter().filter(|call| call.end == End::Answered && within(call.ended_ms)).collect();
    let is_good = |call: &Call| call.end == End::Answered && f64::from(call.took_ms) <= scenario.deadline_ms;
    let good: Vec<&Call> = answers.iter().copied().filter(|call| is_good(call)).collect();
    let share =
        |ends: &[End]| count(came.iter().filter(|call| ends.contains(&call.end)).count()) / count(came.len());
    let (limit, inflight) = record.means(from_ms, to_ms);
    let possible = possible(scenario, &came, from_ms, to_ms);
    let falls = record.limits.windows(2).filter(|pair| pair[1].1 < pair[0].1 && within(pair[1].0));
    let [p50, p99] = quantiles(&answers, [0.5, 0.99]);
    let refusals: Vec<&Call> = came.iter().copied().filter(|call| is_refusal(call)).collect();
    let [rejected_p99] = quantiles(&refusals, [0.99]);
    Figures {
        offered: count(came.len()) * 1000.0 / span,
        throughput: count(answers.len()) * 1000.0 / span,
        goodput: count(good.len()) / possible,
        p50,
        p99,
        mean_latency: answers.iter().map(|call| f64::from(call.took_ms)).sum::<f64>() / count(answers.len()),
        rejected: share(&[End::Refused, End::RefusedIdle]),
        false_rejects: share(&[End::RefusedIdle]),
        rejected_p99,
        timed_out: share(&[End::TimedOut]),
        lost: share(&[End::Lost]),
        limit,
        inflight,
        cuts: count(falls.count()),
        recovery: recovery(&good, possible / span, from_ms, to_ms),
        fairness: fairness(scenario, &good),
        callers: (0..scenario.callers.len())
            .map(|caller| {
                let own: Vec<&Call> =
                    came.iter().copied().filter(|call| usize::from(call.caller) == caller).collect();
                let refused = own.iter().filter(|call| is_refusal(call)).count();
                let answered: Vec<&Call> = own.iter().copied().filter(|call| call.end == End::Answered).collect();
                CallerFigures {
                    offered: count(own.len()) * 1000.0 / span,
                    goodput: count(own.iter().filter(|call| is_good(call)).count()) / count(own.len()),
                    rejected: count(refused) / count(own.len()),
                    p99: quantiles(&answered, [0.99])[0],
                }
            })
            .collect(),
    }
}

/// The good answers that a span could have had: in each of its pieces, all calls or the capacity.
fn possible(scenario: &Scenario, came: &[&Call], from_ms: f64, to_ms: f64) -> f64 {
    let mut state = Phase {
        workers: Some(scenario.dependency.workers),
        slowdown: Some(1.0),
        loss: Some(scenario.dependency.loss),
        stall: Some(scenario.dependency.stall),
        ..Phase::default()
    };
    let mut total = 0.0;
    let mut began = 0.0_f64;
    let last = Phase { at_ms: f64::INFINITY, ..Phase::default() };
    for phase in scenario.phases.iter().chain([&last]) {
        let (from, to) = (began.max(from_ms), phase.at_ms.min(to_ms));
        if from < to {
            total += piece(scenario, &state, came, from, to);
        }
        state.workers = phase.workers.or(state.workers);
        state.slowdown = phase.slowdown.or(state.slowdown);
        state.loss = phase.loss.or(state.loss);
        state.stall = phase.stall.or(state.stall);
        began = phase.at_ms;
    }
    total
}

fn piece(scenario: &Scenario, state: &Phase, came: &[&Call], from: f64, to: f64) -> f64 {
    let calls = came.iter().filter(|call| (from..to).contains(&call.came_ms()));
    let (mut number, mut work) = (0.0, 0.0);
    for call in calls {
        let own = scenario.callers[usize::from(call.caller)].service;
        number += 1.0;
        work += own.unwrap_or(scenario.dependency.service).mean_ms;
    }
    let stalled = state.stall.flatten().map_or(0.0, |Stall { every_ms, length_ms }| length_ms / every_ms);
    let service_ms = state.slowdown.unwrap_or(1.0) * work / number;
    let workers = count(state.workers.unwrap_or_default());
    let capacity = workers * (to - from) / service_ms * (1.0 - stalled) * (1.0 - state.loss.unwrap_or_default());
    let capacity = scenario.event_loop.as_ref().map_or(capacity, |event_loop| {
        let bears = bears(scenario, event_loop, came, from, to);
        if event_loop.io_calls == 0 { bears } else { bears.min(capacity / f64::from(event_loop.io_calls)) }
    });
    // Without calls the capacity is not a number.
    capacity.min(number)
}

/// The calls that an event loop has time for.
fn bears(scenario: &Scenario, event_loop: &EventLoop, came: &[&Call], from: f64, to: f64) -> f64 {
    let calls: Vec<&&Call> = came.iter().filter(|call| (from..to).contains(&call.came_ms())).collect();
    let work: f64 = calls
        .iter()
        .map(|call| scenario.callers[usize::from(call.caller)].cpu.unwrap_or(event_loop.cpu).mean_ms)
        .sum();
    let each = event_loop.cost_ms(work / count(calls.len()));
    let paused = event_loop.pause.map_or(0.0, |Stall { every_ms, length_ms }| length_ms / every_ms);
    (to - from) * (1.0 - paused) / each
}

const fn is_refusal(call: &Call) -> bool {
    matches!(call.end, End::Refused | End::RefusedIdle)
}

fn quantiles<const N: usize>(answers: &[&Call], shares: [f64; N]) -> [f64; N] {
    let mut latencies: Vec<f32> = answers.iter().map(|call| call.took_ms).collect();
    shares.map(|share| {
        if latencies.is_empty() {
            return f64::NAN;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of a list")]
        let index = ((count(latencies.len()) * share) as usize).min(latencies.len() - 1);
        f64::from(*latencies.select_nth_unstable_by(index, f32::total_cmp).1)
    })
}

/// Good answers are in the order of their time.
fn recovery(good: &[&Call], possible_a_ms: f64, from_ms: f64, to_ms: f64) -> f64 {
    let wanted = RECOVERED * possible_a_ms * RECOVERY_SPAN_MS;
    let steps = (0_u32..).map(|step| RECOVERY_STEP_MS * f64::from(step));
    let mut waits = steps.take_while(|wait| from_ms + wait + RECOVERY_SPAN_MS <= to_ms);
    let recovered = waits.find(|wait| {
        let first = good.partition_point(|call| call.ended_ms < from_ms + wait);
        let next = good.partition_point(|call| call.ended_ms < from_ms + wait + RECOVERY_SPAN_MS);
        count(next - first) >= wanted
    });
    recovered.unwrap_or(f64::NAN)
}

fn fairness(scenario: &Scenario, good: &[&Call]) -> f64 {
    let clients = scenario.callers.iter().map(|caller| caller.client + 1).max().unwrap_or_default();
    if clients < 2 {
        return f64::NAN;
    }
    let mut shares = vec![0.0; clients];
    for call in good {
        shares[scenario.callers[usize::from(call.caller)].client] += 1.0;
    }
    let sum: f64 = shares.iter().sum();
    sum * sum / (count(clients) * shares.iter().map(|share| share * share).sum::<f64>())
}

#[expect(clippy::cast_precision_loss, reason = "counts of things in memory")]
pub(super) const fn count(number: usize) -> f64 {
    number as f64
}
