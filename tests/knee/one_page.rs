//! The knee controller's rules once more, on one page: all state in one place, in the letters of control theory.
//! What `src/core/algorithm/knee` decides has to be the same. Milliseconds since the first call's start.
//!
//! `n` is the mean in flight, `mean` the mean latency, `r` that over its base, `t` the `r` that is aimed at,
//! `rho` is `t / r`, `rs` and `rhos` are the same of the smoothed `r`; `e` is the elasticity of throughput.

use resilience::core::algorithm::Sample;

#[derive(Clone, Copy, Default, PartialEq)]
enum Mode {
    #[default]
    Run,
    Verify,
    Probe,
    Loss,
    Recover,
}

#[derive(Clone, Copy, Default)]
struct Kind {
    base: f64,
    sum: f64,
    calls: f64,
}

/// `x` is the sum of latencies over their base, `xx` that of their squares.
#[derive(Clone, Copy, Default)]
struct Window {
    opened: f64,
    answered: f64,
    drops: f64,
    sum: f64,
    base_sum: f64,
    x: f64,
    xx: f64,
    inflight: f64,
    bound: f64,
}

impl Window {
    fn cv2(&self) -> f64 {
        let squared = self.x * self.x;
        (self.xx * self.answered / squared - 1.0).max(0.0)
    }
}

/// The means of a window that was answered.
#[derive(Clone, Copy)]
struct Means {
    n: f64,
    mean: f64,
    r: f64,
    t: f64,
    answered: f64,
    cv2: f64,
    opened: f64,
    any_bound: bool,
    bound: bool,
}

#[derive(Default)]
pub struct OnePage {
    initial: f64,
    min: f64,
    max: f64,
    limit: f64,
    mode: Mode,
    window: Option<Window>,
    kinds: Vec<Kind>,
    changed: f64,
    last_mean: f64,
    last_n: f64,
    rs: Option<f64>,
    cv: f64,
    bound_since: f64,
    last_bound: f64,
    /// Slow start, with `n` and `mean` of its last step.
    slow_start: bool,
    start: (f64, f64),
    /// Windows in a row without a queue.
    streak: u32,
    /// The limit to go back to.
    saved: f64,
    /// The limit, `n` and `mean` that an experiment is judged by.
    reference_limit: f64,
    reference: Option<(f64, f64)>,
    next_probe: f64,
    earliest_probe: f64,
    probe_factor: f64,
    loss_floor: f64,
    loss_before: f64,
    outage_limit: f64,
    peaks: (f64, f64),
    peaks_since: f64,
    followed: f64,
}

impl OnePage {
    pub fn new(initial: f64, min: f64, max: f64) -> Self {
        Self {
            initial,
            min,
            max,
            limit: initial,
            kinds: vec![Kind::default(); 65],
            changed: -1000.0,
            cv: 0.5,
            bound_since: -1000.0,
            last_bound: -1000.0,
            slow_start: true,
            ..Self::default()
        }
    }

    /// Takes a sample; gives the next limit.
    pub fn limit_after(&mut self, sample: &Sample) -> f64 {
        let now = sample.now_ms;
        let settle = match self.mode {
            Mode::Recover => 0.0,
            _ if self.slow_start => 1.0,
            _ => 2.0,
        };
        let is_early = now < self.changed + settle * self.last_mean;
        if is_early || sample.dropped && sample.started_ms < self.changed {
            return self.limit;
        }
        let mut window = match self.window {
            Some(window) if window.opened >= self.changed => window,
            _ => self.open(now),
        };
        if sample.dropped {
            window.drops += 1.0;
        } else {
            let rtt = sample.rtt_ms.max(0.001);
            let kind = &mut self.kinds[sample.operation.map_or(64, |kind| usize::from(kind).min(64))];
            if kind.base == 0.0 {
                kind.base = rtt;
            }
            kind.calls += 1.0;
            kind.sum += rtt;
            window.answered += 1.0;
            window.sum += rtt;
            window.base_sum += kind.base;
            window.x += rtt / kind.base;
            window.xx += (rtt / kind.base).powi(2);
        }
        let inflight = f64::from(sample.inflight);
        window.inflight += inflight;
        if inflight >= self.limit.floor() {
            window.bound += 1.0;
        }
        if self.is_complete(&mut window, now) {
            self.close(&window, now);
            window = self.open(now);
        }
        self.window = Some(window);
        self.limit
    }

    fn open(&mut self, now: f64) -> Window {
        for kind in &mut self.kinds {
            (kind.sum, kind.calls) = (0.0, 0.0);
        }
        Window { opened: now, ..Window::default() }
    }

    fn is_complete(&mut self, window: &mut Window, now: f64) -> bool {
        let total = window.answered + window.drops;
        let least = match self.mode {
            Mode::Recover => self.limit.clamp(4.0, 16.0),
            Mode::Loss => 32.0,
            _ => 16.0,
        };
        if total < least {
            return false;
        }
        if self.last_mean == 0.0 {
            if now < 3.0 * window.sum / window.answered.max(1.0) {
                return false;
            }
            if window.answered >= 4.0 {
                window.base_sum = window.sum;
                for kind in self.kinds.iter_mut().filter(|kind| kind.calls > 0.0) {
                    kind.base = kind.sum / kind.calls;
                }
            }
        }
        if self.mode == Mode::Recover || window.drops >= 0.25 * total {
            return true;
        }
        let full = (window.cv2() / 0.01).min(256.0);
        let (wanted, flights) = if self.mode == Mode::Run { (full, 0.5) } else { (full.clamp(32.0, 128.0), 1.0) };
        let flight = self.last_mean.max(window.sum / window.answered);
        (total >= wanted || self.last_mean == 0.0) && now - window.opened >= flights * flight
    }

    fn set(&mut self, limit: f64, now: f64) {
        let limit = limit.max(self.min).min(self.max);
        if limit.total_cmp(&self.limit).is_ne() {
            (self.limit, self.changed) = (limit, now);
        }
    }

    fn learn(&mut self, weight: f64, r: f64) {
        for kind in self.kinds.iter_mut().filter(|kind| kind.base > 0.0) {
            if kind.calls > 0.0 {
                kind.base += weight * (kind.sum / kind.calls - kind.base);
            } else {
                kind.base *= 1.0 + weight * (r - 1.0);
            }
        }
    }

    fn hasten_probe(&mut self, mean: f64, now: f64) {
        self.next_probe = self.next_probe.min((now + 20.0 * mean).max(self.earliest_probe));
    }

    fn close(&mut self, window: &Window, now: f64) {
        let Window { opened, answered, drops, sum, base_sum, .. } = *window;
        let total = answered + drops;
        let (n, bound) = (window.inflight / total, window.bound / total);
        if bound > 0.0 {
            if now - self.last_bound > 10.0 * self.last_mean {
                self.bound_since = opened;
            }
            self.last_bound = now;
        }
        if self.has_lost(drops / total, now) || answered == 0.0 {
            return;
        }
        let (mean, r) = (sum / answered, sum / base_sum);
        let served = n / r.max(1.0);
        let queue = (1.7 * served.max(0.25).sqrt()).min(4.2) + 0.4 * (self.limit - n).max(0.0);
        let t = 1.0 + (queue / served.max(0.25)).max(0.15);
        self.last_mean = mean;
        if self.mode == Mode::Recover {
            let is_clear = r <= t * (2.0 * self.cv / answered.sqrt()).exp();
            if !is_clear || self.limit * 2.0 >= self.outage_limit {
                self.mode = Mode::Run;
            }
            if is_clear {
                self.set((self.limit * 2.0).min(self.outage_limit.max(self.limit)), now);
            }
            return;
        }
        let cv2 = window.cv2();
        self.cv += 0.1 * (cv2.sqrt() - self.cv);
        let means = Means { n, mean, r, t, answered, cv2, opened, any_bound: bound > 0.0, bound: bound >= 0.05 };
        if self.mode == Mode::Probe {
            self.conclude_probe(&means, now);
        } else if self.mode != Mode::Verify || !self.has_verified(&means, now) {
            self.run(&means, now);
        }
        self.last_n = n;
    }

    /// Whether drops decided.
    fn has_lost(&mut self, share: f64, now: f64) -> bool {
        let was_cut = self.mode == Mode::Loss;
        if was_cut {
            self.mode = Mode::Run;
            if share > 0.7 * self.loss_before && share < 0.9 {
                self.loss_floor = share;
                self.set(self.saved, now);
                return true;
            }
            self.loss_floor = self.loss_floor.min(share);
        }
        if share <= self.loss_floor + 0.25 {
            return false;
        }
        (self.streak, self.slow_start, self.rs) = (0, false, None);
        if share < 0.9 && self.mode != Mode::Recover {
            (self.mode, self.loss_before, self.saved) = (Mode::Loss, share, self.limit);
            self.set(self.limit * (1.0 - share).max(0.3), now);
            return true;
        }
        if self.mode != Mode::Recover {
            self.outage_limit = if was_cut { self.saved } else { self.limit };
            self.mode = Mode::Recover;
        }
        self.set(self.limit * 0.5, now);
        true
    }

    /// Whether a deep cut's outcome decided.
    fn has_verified(&mut self, means: &Means, now: f64) -> bool {
        let Means { n, mean, r, t, .. } = *means;
        self.mode = Mode::Run;
        if let Some((reference_n, reference_mean)) = self.reference {
            let fall = (n / reference_n).ln();
            let e = if fall < -0.1 { 1.0 - (mean / reference_mean).ln() / fall } else { 0.0 };
            if e > 0.65 && r > t {
                self.learn(1.0, r);
                self.streak = 3;
                self.set(self.saved * 1.5, now);
                return true;
            }
            self.saved = self.reference_limit;
        }
        if t / r >= 0.7 {
            return false;
        }
        self.streak = 0;
        (self.reference_limit, self.reference) = (self.limit, Some((n, mean)));
        self.set(self.limit * (t / r).max(0.6), now);
        self.mode = Mode::Verify;
        true
    }

    fn conclude_probe(&mut self, means: &Means, now: f64) {
        let Means { n, r, cv2, answered, .. } = *means;
        let noise = 2.0 * (cv2 / answered).sqrt();
        let (low, high) = (0.85_f64.min((-noise).exp()), 1.3_f64.max(noise.exp()));
        let weight = if r < low || r > high { 1.0 } else { 0.3 };
        self.learn(weight, r);
        self.probe_factor *= 1.0 + weight * (r - 1.0);
        if r < low && self.limit > self.min.max(1.0) {
            self.set((0.75 * n).floor().max(1.0), now);
            return;
        }
        let lasted = now - self.changed;
        let interval = if self.probe_factor.ln().abs() > 0.15 { 5.0 } else { 100.0 } * lasted;
        (self.next_probe, self.earliest_probe) = (now + interval, now + interval.min(30.0 * lasted));
        self.mode = Mode::Run;
        self.set(self.saved * self.probe_factor, now);
        self.rs = None;
    }

    fn run(&mut self, means: &Means, now: f64) {
        let Means { n, mean, r, t, .. } = *means;
        let rs = self.rs.map_or(r, |rs| rs + 0.3 * (r - rs));
        self.rs = Some(rs);
        if means.any_bound && rs < 0.88 {
            self.hasten_probe(mean, now);
        }
        let (rho, rhos, held) = (t / r, t / rs, now - self.bound_since);
        if means.any_bound && (self.slow_start || rho >= 1.0 || rho > 0.7 && rhos >= 1.0) {
            if self.slow_start {
                self.double(means, now);
            } else if self.streak >= 3 {
                if r < 1.0 + 0.5 * (t - 1.0) {
                    self.set(1.5 * self.limit, now);
                } else {
                    self.streak = 0;
                }
            } else if held >= 2.0 * mean {
                let is_clear = rs < 1.0 + 0.3 * (t - 1.0) && r < t;
                self.streak = if is_clear { self.streak + 1 } else { 0 };
                self.set(self.limit * rhos.min(1.5).powf(0.35), now);
            }
        } else if means.bound {
            self.streak = 0;
            if rho < 0.7 {
                (self.rs, self.reference, self.saved, self.mode) = (None, None, self.limit, Mode::Verify);
                self.hasten_probe(mean, now);
                self.set(self.limit * rho.max(0.6), now);
                return;
            }
            self.set(self.limit * rhos.min(1.0).powf(0.35), now);
        }
        if !means.any_bound {
            self.lift(means, now);
        } else if self.streak == 0 && held >= 10.0 * mean && now >= self.next_probe {
            (self.saved, self.next_probe) = (self.limit, now + 20.0 * mean);
            if rhos < 0.87 {
                (self.reference_limit, self.reference) = (self.limit, Some((n, mean)));
                self.mode = Mode::Verify;
                self.set(0.6 * self.limit, now);
            } else {
                (self.mode, self.probe_factor) = (Mode::Probe, 1.0);
                let drained = (0.75 * n / r.max(1.0)).max(0.35 * n).floor().max(1.0);
                self.set(drained.min(0.8 * self.limit), now);
                self.changed = now;
            }
        }
    }

    fn double(&mut self, means: &Means, now: f64) {
        let Means { n, mean, r, .. } = *means;
        let (start_n, start_mean) = self.start;
        let is_up = start_n > 0.0 && n / start_n > 1.3;
        let e = if is_up { 1.0 - (mean / start_mean).ln() / (n / start_n).ln() } else { 1.0 };
        self.slow_start = e > 0.4 && (r < 1.35 || is_up);
        if self.slow_start {
            if r > 1.0 && is_up && e > 0.75 {
                self.learn(0.5, r);
                self.rs = None;
            }
            self.start = (n, mean);
            self.set(2.0 * self.limit, now);
        }
    }

    fn lift(&mut self, means: &Means, now: f64) {
        let Means { n, mean, r, .. } = *means;
        if now - self.changed > 10.0 * mean {
            (self.streak, self.slow_start) = (0, false);
        }
        if now - self.last_bound <= (20.0 * mean).max(2000.0) {
            return;
        }
        self.followed += 1.0;
        let lasted = (now - means.opened).min(20_000.0);
        self.learn((1.0 / (self.followed + 1.0)).max(1.0 - (-lasted / 20_000.0).exp()), r);
        if r >= 1.5 {
            return;
        }
        if now - self.peaks_since > 10_000.0 {
            (self.peaks, self.peaks_since) = ((0.0, self.peaks.0), now);
        }
        self.peaks.0 = self.peaks.0.max(n.min(self.last_n) - 1.0);
        let wanted = 4.5 * (1.0 + self.cv) * self.peaks.0.max(self.peaks.1);
        if wanted > self.limit {
            self.limit = wanted.min(1.2 * self.limit).min(self.max);
        } else if self.limit > 2.5 * wanted.max(self.initial) {
            self.limit *= 0.97;
        }
    }
}
