//! A run as curves.

use super::figures::count;
use super::record::{End, Record};
use super::scenario::Scenario;

/// One number for each of some equal steps of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Where each step begins.
    pub time_ms: Vec<f64>,
    /// The mean of the clients' limits, added up.
    pub limit: Vec<f64>,
    /// The mean in flight.
    pub inflight: Vec<f64>,
    /// The calls that the dependency serves at once, or that keep the event loop busy, in the middle of the step.
    pub capacity: Vec<f64>,
    /// The mean latency of the answers; not a number without any.
    pub latency: Vec<f64>,
    /// Calls that timed out or were lost.
    pub drops: Vec<f64>,
    /// Calls that were turned away.
    pub rejected: Vec<f64>,
}

/// The moments that must be marked in a record of which a series of so many points is wanted.
pub fn moments(scenario: &Scenario, points: u32) -> impl Iterator<Item = f64> {
    let step = scenario.duration_ms / f64::from(points);
    (0..=points).map(move |index| step * f64::from(index))
}

/// The curves, of so many points.
#[must_use]
pub fn series(scenario: &Scenario, record: &Record, points: u32) -> Series {
    let edges: Vec<f64> = moments(scenario, points).collect();
    let steps = edges.len() - 1;
    let mut series = Series {
        time_ms: edges[..steps].to_vec(),
        latency: vec![0.0; steps],
        drops: vec![0.0; steps],
        rejected: vec![0.0; steps],
        ..Series::default()
    };
    let mut answers = vec![0_usize; steps];
    for call in &record.calls {
        let step = edges.partition_point(|edge| *edge <= call.ended_ms).clamp(1, steps) - 1;
        match call.end {
            End::Answered => {
                series.latency[step] += f64::from(call.took_ms);
                answers[step] += 1;
            }
            End::TimedOut | End::Lost => series.drops[step] += 1.0,
            End::Refused | End::RefusedIdle => series.rejected[step] += 1.0,
            End::Open => {}
        }
    }
    for (sum, answers) in series.latency.iter_mut().zip(answers) {
        *sum /= count(answers);
    }
    for pair in edges.windows(2) {
        let (limit, inflight) = record.means(pair[0], pair[1]);
        series.limit.push(limit);
        series.inflight.push(inflight);
        series.capacity.push(capacity(scenario, f64::midpoint(pair[0], pair[1])));
    }
    series
}

/// The calls in flight that keep the dependency's workers busy, or the event loop: by Little's law as many as come
/// while one is under way.
fn capacity(scenario: &Scenario, at_ms: f64) -> f64 {
    let mut workers = scenario.dependency.workers;
    let mut slowdown = 1.0;
    for phase in scenario.phases.iter().take_while(|phase| phase.at_ms <= at_ms) {
        workers = phase.workers.unwrap_or(workers);
        slowdown = phase.slowdown.unwrap_or(slowdown);
    }
    let workers = count(workers);
    scenario.event_loop.as_ref().map_or(workers, |event_loop| {
        let cost_ms = event_loop.cost_ms(event_loop.cpu.mean_ms);
        let io_ms = scenario.dependency.service.mean_ms * slowdown * f64::from(event_loop.io_calls);
        let busy = (io_ms + cost_ms) / cost_ms;
        if event_loop.io_calls == 0 { busy } else { busy.min(workers) }
    })
}
