//! Plays scenarios off the JavaScript thread. `lib/simulate/` has validated every number.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use napi::bindgen_prelude::{Either4, Object};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;
use tokio::runtime::{Builder, Runtime};

use super::algorithm::{Aimd, Gradient2, Knee, Vegas};
use super::fault::{Moment, reach};
use super::guard::guard;
use crate::core::algorithm::Algorithm;
use crate::core::simulate::figures::figures;
use crate::core::simulate::scenario::Scenario;
use crate::core::simulate::series::{moments, series};
use crate::core::simulate::world::{Stopped, play};

mod report;
mod scenario;

use report::NativeReport;
use scenario::NativeScenario;

/// Only its pool of blocking threads is used: they come with the first simulation, and go when idle.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| Builder::new_current_thread().build());

/// What a run and its owner share.
#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// How much of the time is over, as the bits of a double.
    progress: AtomicU64,
}

/// One run: one algorithm, one seed.
#[napi]
pub struct Simulation {
    scenario: Arc<Scenario>,
    seed: u64,
    points: u32,
    windows: Vec<(f64, f64)>,
    shared: Arc<Shared>,
}

#[napi]
impl Simulation {
    /// A run of `scenario`. Without an algorithm its limit is fixed.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(scenario: NativeScenario, algorithm: Option<Either4<&Gradient2, &Vegas, &Aimd, &Knee>>) -> Self {
        reach("Simulation", Moment::Before);
        let algorithm = algorithm.map(|algorithm| match algorithm {
            Either4::A(algorithm) => Algorithm::Gradient2(algorithm.state.fresh()),
            Either4::B(algorithm) => Algorithm::Vegas(algorithm.state.fresh()),
            Either4::C(algorithm) => Algorithm::Aimd(algorithm.state.clone()),
            Either4::D(algorithm) => Algorithm::Knee(Box::new(algorithm.state.fresh())),
        });
        let windows = scenario.windows.iter().map(|window| (window.from_ms, window.to_ms)).collect();
        let (seed, points) = (scenario.seed(), scenario.points);
        let scenario = Arc::new(scenario.into_core(algorithm));
        Self { scenario, seed, points, windows, shared: Arc::default() }
    }

    /// Plays it on a thread of its own. The promise rejects if it is cancelled.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeReport>")]
    pub fn run<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        reach("Simulation.run", Moment::Before);
        let runtime = RUNTIME.as_ref().map_err(|error| failure(error.to_string()))?;
        let (deferred, promise) = env.create_deferred()?;
        let Self { scenario, seed, points, windows, shared } = self;
        let (scenario, shared, windows) = (Arc::clone(scenario), Arc::clone(shared), windows.clone());
        let (seed, points) = (*seed, *points);
        runtime.spawn_blocking(move || {
            let told = guard(|| report(&scenario, seed, points, &windows, &shared)).map_err(failure);
            match told.and_then(|report| report.map_err(refusal)) {
                Ok(report) => deferred.resolve(move |_| Ok(report)),
                Err(error) => deferred.reject(error),
            }
        });
        Ok(promise)
    }

    /// How much of the time is over, from 0 to 1.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn progress(&self) -> f64 {
        f64::from_bits(self.shared.progress.load(Ordering::Relaxed))
    }

    /// Stops the run soon.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Nobody is left to hear of the run, as when a worker thread was terminated.
impl Drop for Simulation {
    fn drop(&mut self) {
        self.cancel();
    }
}

fn report(
    scenario: &Scenario,
    seed: u64,
    points: u32,
    windows: &[(f64, f64)],
    shared: &Shared,
) -> std::result::Result<NativeReport, Stopped> {
    let mut marks: Vec<f64> = moments(scenario, points).collect();
    marks.extend(windows.iter().flat_map(|(from, to)| [*from, *to]));
    marks.sort_by(f64::total_cmp);
    let record = play(scenario, seed, &marks, &|progress| {
        shared.progress.store(progress.to_bits(), Ordering::Relaxed);
        !shared.cancelled.load(Ordering::Relaxed)
    });
    let record = record?;
    let tell = |(from, to): (f64, f64)| figures(scenario, &record, from, to).into();
    Ok(NativeReport {
        figures: tell((0.0, scenario.duration_ms)),
        windows: windows.iter().copied().map(tell).collect(),
        series: series(scenario, &record, points).into(),
    })
}

/// Too many calls are the scenario's mistake, all else is a defect.
fn refusal(stopped: Stopped) -> Error {
    let status = if stopped == Stopped::TooManyCalls { Status::InvalidArg } else { Status::GenericFailure };
    Error::new(status, stopped.to_string())
}

fn failure(message: String) -> Error {
    Error::new(Status::GenericFailure, message)
}
