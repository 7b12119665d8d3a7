//! Short forms for scenarios of one client, and what tests ask of a run.

use std::ops::Range;

use resilience::core::algorithm::{Algorithm, Gradient2};
use resilience::core::queue::Overflow;
use resilience::core::simulate::figures::{Figures, figures};
use resilience::core::simulate::record::Record;
use resilience::core::simulate::scenario::{Arrivals, Caller, Dependency, Limiter, Scenario};
use resilience::core::simulate::service::Service;
use resilience::core::simulate::world::play;

/// A gradient2 limiter of at most `max_limit` in front of as many workers, and one caller.
pub fn scenario(
    (workers, service): (usize, Service),
    (arrivals, rate): (Arrivals, f64),
    max_limit: u32,
    timeout_ms: f64,
    until_ms: f64,
) -> Scenario {
    Scenario {
        duration_ms: until_ms,
        deadline_ms: f64::INFINITY,
        timeout_ms,
        limiter: Limiter {
            algorithm: Some(Algorithm::Gradient2(Gradient2::default())),
            initial_limit: 20,
            min_limit: 1,
            max_limit,
            queue_limit: 0,
            queue_timeout_ms: f64::INFINITY,
            overflow: Overflow::RejectNew,
            operation_keys: false,
        },
        dependency: Dependency { workers, sharing: false, service, loss: 0.0, stall: None },
        callers: vec![Caller {
            client: 0,
            priority: 0.0,
            operation: 0,
            service: None,
            arrivals,
            rate,
            retries: None,
            cpu: None,
            streams: false,
        }],
        phases: Vec::new(),
        event_loop: None,
    }
}

/// A run, and what it was of.
pub struct Run<'a> {
    scenario: &'a Scenario,
    /// What happened.
    pub record: Record,
}

impl<'a> Run<'a> {
    /// Plays a scenario to its end; `windows` are the spans of which figures will be wanted.
    pub fn new(scenario: &'a Scenario, seed: u64, windows: &[Range<f64>]) -> Self {
        let mut moments: Vec<f64> = windows.iter().flat_map(|window| [window.start, window.end]).collect();
        moments.sort_by(f64::total_cmp);
        let record = play(scenario, seed, &moments, &|_| true).expect("a scenario of few calls");
        Self { scenario, record }
    }

    /// The figures of a window, which are printed, too.
    pub fn figures(&self, case: &str, window: &Range<f64>) -> Figures {
        let figures = figures(self.scenario, &self.record, window.start, window.end);
        println!(
            "{case}, {window:?} ms: {:.1} a second, limit {:.1}, p99 {:.1} ms, {:.2} % turned away",
            figures.throughput,
            figures.limit,
            figures.p99,
            100.0 * figures.rejected,
        );
        figures
    }
}
