//! Scenarios of an event loop in short, and what is asked of a run.

use resilience::core::queue::Overflow;
use resilience::core::simulate::figures::{Figures, figures};
use resilience::core::simulate::record::{Call, End, Record};
use resilience::core::simulate::scenario::{
    Arrivals, Caller, Costs, Dependency, EventLoop, Limiter, Overload, Phase, Scenario, Stall,
};
use resilience::core::simulate::service::{Service, Spread};
use resilience::core::simulate::world::play;

pub const SECOND: f64 = 1000.0;
/// What clients wait for.
pub const PATIENCE: f64 = SECOND;

/// How a request is made up.
#[derive(Clone, Copy)]
pub struct Shape {
    pub cpu: f64,
    /// The share of it before the I/O.
    pub before: f64,
    /// Milliseconds of I/O; 0 for none.
    pub io: f64,
    /// Whether each request comes over a connection of its own.
    pub fresh: bool,
    /// Whether CPU times are exponential.
    pub varies: bool,
}

pub const fn sync(cpu: f64) -> Shape {
    Shape { cpu, before: 1.0, io: 0.0, fresh: false, varies: false }
}

pub const fn after(cpu: f64, io: f64) -> Shape {
    Shape { cpu, before: 0.0, io, fresh: false, varies: false }
}

impl Shape {
    pub const fn fresh(self) -> Self {
        Self { fresh: true, ..self }
    }

    /// Requests a second at a load of 1.
    pub fn capacity(self) -> f64 {
        SECOND / (self.cpu + COSTS.parse_ms + COSTS.answer_ms + if self.fresh { COSTS.accept_ms } else { 0.0 })
    }

    /// The share of the capacity that refusing leaves at a load.
    pub fn bound(self, load: f64) -> f64 {
        let refusal = self.costs().refuse_ms + COSTS.parse_ms + if self.fresh { COSTS.accept_ms } else { 0.0 };
        1.0 - (load - 1.0) * refusal * self.capacity() / SECOND
    }

    const fn costs(self) -> Costs {
        Costs { refuse_ms: if self.fresh { 0.1 } else { COSTS.refuse_ms }, ..COSTS }
    }
}

pub const COSTS: Costs =
    Costs { turn_ms: 0.008, accept_ms: 0.06, parse_ms: 0.03, refuse_ms: 0.06, answer_ms: 0.1 };

pub const fn service(mean_ms: f64, varies: bool) -> Service {
    Service { mean_ms, spread: if varies { Spread::Erlang { shape: 1 } } else { Spread::Constant } }
}

pub const fn caller(rate: f64) -> Caller {
    Caller {
        client: 0,
        priority: 0.0,
        operation: 0,
        service: None,
        arrivals: Arrivals::Poisson,
        rate,
        retries: None,
        cpu: None,
        streams: false,
    }
}

/// A protected loop under a load, as a share of its capacity, for so many seconds.
pub fn scenario(shape: Shape, load: f64, seconds: f64) -> Scenario {
    let Shape { cpu, before, io, fresh, varies } = shape;
    Scenario {
        duration_ms: seconds * SECOND,
        deadline_ms: PATIENCE,
        timeout_ms: f64::INFINITY,
        limiter: Limiter {
            algorithm: None,
            initial_limit: 1_000_000,
            min_limit: 1,
            max_limit: 1_000_000,
            queue_limit: 0,
            queue_timeout_ms: f64::INFINITY,
            overflow: Overflow::RejectNew,
            operation_keys: false,
        },
        dependency: Dependency {
            workers: 1_000_000,
            sharing: false,
            service: service(io, false),
            loss: 0.0,
            stall: None,
        },
        callers: vec![caller(load * shape.capacity())],
        phases: Vec::new(),
        event_loop: Some(EventLoop {
            cpu: service(cpu, varies),
            before,
            io_calls: u32::from(io > 0.0),
            fresh,
            accepts_all: false,
            backlog: 511,
            costs: shape.costs(),
            pause: None,
            tells_idle: true,
            overload: Some(Overload { target_ms: 100.0, max_ms: 500.0 }),
        }),
    }
}

/// Changes the loop of a scenario.
pub fn with(mut scenario: Scenario, change: impl FnOnce(&mut EventLoop)) -> Scenario {
    if let Some(event_loop) = &mut scenario.event_loop {
        change(event_loop);
    }
    scenario
}

/// Pauses of 300 ms.
pub fn pausing(scenario: Scenario) -> Scenario {
    with(scenario, |event_loop| event_loop.pause = Some(Stall { every_ms: 2.0 * SECOND, length_ms: 300.0 }))
}

/// Another load from a second on.
pub fn then(mut scenario: Scenario, second: f64, rate: f64) -> Scenario {
    scenario.phases.push(Phase { at_ms: second * SECOND, rates: vec![rate], ..Phase::default() });
    scenario
}

/// Runs of some seeds.
pub fn runs(scenario: &Scenario, from: f64) -> Vec<Row> {
    (1..=3).map(|seed| run(scenario, seed, from)).collect()
}

/// The mean of a figure over runs.
pub fn mean(rows: &[Row], figure: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(&figure).sum::<f64>() / f64::from(u32::try_from(rows.len()).expect("few"))
}

/// What a run came to from a second on.
pub struct Row {
    pub figures: Figures,
    /// 99 % of the refusals took no longer, in milliseconds.
    pub refusal_p99: f64,
    /// 99 % of the answers in time took no longer.
    pub p99: f64,
    pub refused: usize,
    pub record: Record,
}

impl Row {
    /// Goodput in percent.
    pub fn goodput(&self) -> f64 {
        100.0 * self.figures.goodput
    }
}

/// Of the last second nothing counts: what came then may not have ended.
pub fn run(scenario: &Scenario, seed: u64, from: f64) -> Row {
    let (from, to) = (from * SECOND, scenario.duration_ms - SECOND);
    let record = play(scenario, seed, &[from, to], &|_| true).expect("a scenario of few calls");
    let figures = figures(scenario, &record, from, to);
    let counted = || record.calls.iter().filter(|call| (from..to).contains(&call.came_ms()));
    let refusals: Vec<&Call> = counted().filter(|call| is_refusal(call)).collect();
    let answers: Vec<&Call> =
        counted().filter(|call| call.end == End::Answered && f64::from(call.took_ms) <= PATIENCE).collect();
    let (refusal_p99, p99, refused) = (p99(&refusals), p99(&answers), refusals.len());
    Row { figures, refusal_p99, p99, refused, record }
}

/// Five times the capacity for 5 s, and then less than it: nobody is turned away a second after that.
pub fn refusals_end_with_the_overload(shape: Shape) {
    let back = then(scenario(shape, 5.0, 12.0), 5.0, 0.7 * shape.capacity());
    for seed in 1..=3 {
        let row = run(&back, seed, 0.0);
        let last = row.record.calls.iter().filter(|call| is_refusal(call)).map(|call| call.ended_ms);
        let last = last.fold(0.0, f64::max);
        assert!(last < 6_000.0, "seed {seed}: {last} ms");
    }
}

pub const fn is_refusal(call: &Call) -> bool {
    matches!(call.end, End::Refused | End::RefusedIdle)
}

fn p99(calls: &[&Call]) -> f64 {
    let mut took: Vec<f32> = calls.iter().map(|call| call.took_ms).collect();
    took.sort_by(f32::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = (took.len() as f64 * 0.99) as usize;
    took.get(index).or_else(|| took.last()).map_or(f64::NAN, |took| f64::from(*took))
}
