//! What a run came to, for JavaScript.

use napi_derive::napi;

use crate::core::simulate::figures::{CallerFigures, Figures};
use crate::core::simulate::series::Series;

/// All of it.
#[napi(object)]
pub struct NativeReport {
    /// Of the whole run.
    pub figures: NativeFigures,
    /// Of each window.
    pub windows: Vec<NativeFigures>,
    /// As curves.
    pub series: NativeSeries,
}

/// See [`Figures`].
#[napi(object)]
pub struct NativeFigures {
    pub offered: f64,
    pub throughput: f64,
    pub goodput: f64,
    pub p50: f64,
    pub p99: f64,
    pub mean_latency: f64,
    pub rejected: f64,
    pub false_rejects: f64,
    pub rejected_p99: f64,
    pub timed_out: f64,
    pub lost: f64,
    pub limit: f64,
    pub inflight: f64,
    pub cuts: f64,
    pub recovery: f64,
    pub fairness: f64,
    pub callers: Vec<NativeCallerFigures>,
}

impl From<Figures> for NativeFigures {
    fn from(figures: Figures) -> Self {
        Self {
            offered: figures.offered,
            throughput: figures.throughput,
            goodput: figures.goodput,
            p50: figures.p50,
            p99: figures.p99,
            mean_latency: figures.mean_latency,
            rejected: figures.rejected,
            false_rejects: figures.false_rejects,
            rejected_p99: figures.rejected_p99,
            timed_out: figures.timed_out,
            lost: figures.lost,
            limit: figures.limit,
            inflight: figures.inflight,
            cuts: figures.cuts,
            recovery: figures.recovery,
            fairness: figures.fairness,
            callers: figures.callers.into_iter().map(Into::into).collect(),
        }
    }
}

/// See [`CallerFigures`].
#[napi(object)]
pub struct NativeCallerFigures {
    pub offered: f64,
    pub goodput: f64,
    pub rejected: f64,
    pub p99: f64,
}

impl From<CallerFigures> for NativeCallerFigures {
    fn from(figures: CallerFigures) -> Self {
        let CallerFigures { offered, goodput, rejected, p99 } = figures;
        Self { offered, goodput, rejected, p99 }
    }
}

/// See [`Series`].
#[napi(object)]
pub struct NativeSeries {
    pub time_ms: Vec<f64>,
    pub limit: Vec<f64>,
    pub inflight: Vec<f64>,
    pub capacity: Vec<f64>,
    pub latency: Vec<f64>,
    pub drops: Vec<f64>,
    pub rejected: Vec<f64>,
}

impl From<Series> for NativeSeries {
    fn from(series: Series) -> Self {
        let Series { time_ms, limit, inflight, capacity, latency, drops, rejected } = series;
        Self { time_ms, limit, inflight, capacity, latency, drops, rejected }
    }
}
