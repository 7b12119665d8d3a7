//! The knee controller's rules once more, on one page: all state in one place, no names for the steps. What
//! `src/core/algorithm/knee` decides has to be the same. Milliseconds since the first call's start.

use resilience::core::algorithm::Sample;

#[derive(Clone, Copy, PartialEq)] enum Mode { Run, Verify, Probe, Loss, Recover }
#[derive(Clone, Copy, Default)] struct Op { base: f64, sum: f64, n: f64 }
#[derive(Default)] struct Win { t0: f64, n: f64, drops: f64, sum: f64, base_sum: f64, x: f64, xx: f64, inflight: f64, bound: f64 }
pub struct OnePage {
    limit: f64, min: f64, max: f64, init: f64, mode: Mode, w: Win, ops: Vec<Op>,
    changed: f64, r_last: f64, first_start: f64,          
    slow_start: bool, ss_n: f64, ss_r: f64, streak: u32,   // cold start; run of "clearly no queue" windows
    rs: f64, cv: f64,
    bound_since: f64, last_bound: f64, 
    next_probe: f64, probe_min: f64, ival: f64, pf: f64, 
    saved: f64, ref_limit: f64, ref_n: f64, ref_r: f64,    
    loss_floor: f64, loss_ref: f64, outage_limit: f64,
    pk: f64, pk_prev: f64, pk_t: f64, n_prev: f64, tracked: f64,
}
impl OnePage {
    pub fn new(init: f64, min: f64, max: f64) -> Self { OnePage { limit: init, min, max, init, mode: Mode::Run, w: Win { t0: -1000.0, ..Default::default() }, ops: vec![Op::default(); 65], changed: -1000.0, r_last: 0.0, first_start: -1000.0,
        slow_start: true, ss_n: 0.0, ss_r: 0.0, streak: 0, rs: 0.0, cv: 0.5, bound_since: -1000.0, last_bound: -1000.0, next_probe: 0.0, probe_min: 0.0, ival: 0.0, pf: 1.0,
        saved: 0.0, ref_limit: 0.0, ref_n: 0.0, ref_r: 0.0, loss_floor: 0.0, loss_ref: 0.0, outage_limit: 0.0, pk: 0.0, pk_prev: 0.0, pk_t: 0.0, n_prev: 0.0, tracked: 0.0 } }
    fn open(&mut self, now: f64) { self.w = Win { t0: now, ..Default::default() }; for o in &mut self.ops { o.sum = 0.0; o.n = 0.0 } }
    fn set(&mut self, now: f64, l: f64) { let l = l.max(self.min).min(self.max); if l != self.limit { self.limit = l; self.changed = now } }
    fn target(&self, bdp: f64, n: f64) -> f64 { let b = bdp.max(0.25); 1.0 + (((1.7 * b.sqrt()).min(4.2) + 0.4 * (self.limit - n).max(0.0)) / b).max(0.15) }
    fn learn(&mut self, w: f64, r: f64) { for o in &mut self.ops { if o.base > 0.0 { if o.n > 0.0 { o.base += w * (o.sum / o.n - o.base) } else { o.base *= 1.0 + w * (r - 1.0) } } } }
    fn win_cv2(&self) -> f64 { (self.w.xx * self.w.n / (self.w.x * self.w.x) - 1.0).max(0.0) }
    fn close(&mut self, now: f64) {
        let tot = self.w.n + self.w.drops; let d = self.w.drops / tot; let n = self.w.inflight / tot;
        let any = self.w.bound > 0.0; let bound = self.w.bound / tot >= 0.05;
        if any { if now - self.last_bound > 10.0 * self.r_last { self.bound_since = self.w.t0 } self.last_bound = now }
        // --- loss ---
        let was_loss = self.mode == Mode::Loss;
        if was_loss { self.mode = Mode::Run;
            if d > 0.7 * self.loss_ref && d < 0.9 { self.loss_floor = d; let l = self.saved; self.set(now, l); return }
            self.loss_floor = self.loss_floor.min(d) }
        if d > self.loss_floor + 0.25 { self.streak = 0; self.slow_start = false; self.rs = 0.0;
            if d < 0.9 && self.mode != Mode::Recover { self.mode = Mode::Loss; self.loss_ref = d; self.saved = self.limit; let l = self.limit * (1.0 - d).max(0.3); self.set(now, l) }
            else { if self.mode != Mode::Recover { self.outage_limit = if was_loss { self.saved } else { self.limit }; self.mode = Mode::Recover } let l = self.limit * 0.5; self.set(now, l) }
            return }
        if self.w.n < 1.0 { return }
        // --- latency ---
        let r_abs = self.w.sum / self.w.n; let r = self.w.sum / self.w.base_sum; self.r_last = r_abs;
        let t = self.target(n / r.max(1.0), n);
        if self.mode == Mode::Recover {
            let ok = r <= t * (2.0 * self.cv / self.w.n.sqrt()).exp();
            if !ok || self.limit * 2.0 >= self.outage_limit { self.mode = Mode::Run }
            if ok { let l = (self.limit * 2.0).min(self.outage_limit.max(self.limit)); self.set(now, l) } return }
        let bdp = n / r.max(1.0); let held = now - self.bound_since; let n_prev = self.n_prev; self.n_prev = n;
        let cv2 = self.win_cv2(); self.cv += 0.1 * (cv2.sqrt() - self.cv);
        match self.mode {
            Mode::Verify => { self.mode = Mode::Run; let has_ref = self.ref_n > 0.0;
                if has_ref { let ln = (n / self.ref_n).ln(); let e = if ln < -0.1 { 1.0 - (r_abs / self.ref_r).ln() / ln } else { 0.0 };
                    if e > 0.65 && r > t { self.learn(1.0, r); self.streak = 3; let l = self.saved * 1.5; self.set(now, l); return }
                    self.saved = self.ref_limit }
                if t / r < 0.7 { self.streak = 0; self.ref_limit = self.limit; self.ref_n = n; self.ref_r = r_abs; let l = self.limit * (t / r).max(0.6); self.set(now, l); self.mode = Mode::Verify; return } }
            Mode::Probe => { let se = 2.0 * (cv2 / self.w.n).sqrt(); let lo = 0.85f64.min((-se).exp());
                let w = if r < lo || r > 1.3f64.max(se.exp()) { 1.0 } else { 0.3 }; let f = 1.0 + w * (r - 1.0); self.learn(w, r); self.pf *= f;
                if r < lo && self.limit > self.min.max(1.0) { let l = (0.75 * n).floor().max(1.0); self.set(now, l); return }
                self.mode = Mode::Run; let dur = now - self.changed;
                self.ival = if self.pf.ln().abs() > 0.15 { 5.0 * dur } else { (2.0 * self.ival).max(100.0 * dur).min(dur / 0.01) };
                self.next_probe = now + self.ival; self.probe_min = now + self.ival.min(30.0 * dur);
                let l = self.saved * self.pf; self.set(now, l); self.rs = 0.0; return }
            _ => {} }
        if self.rs == 0.0 { self.rs = r } else { self.rs += 0.3 * (r - self.rs) }
        if any && self.rs < 0.88 { self.next_probe = self.next_probe.min((now + 20.0 * r_abs).max(self.probe_min)) }
        let rho = t / r; let rhos = t / self.rs; let clear = self.rs < 1.0 + 0.3 * (t - 1.0) && r < t;
        if any && (self.slow_start || rho >= 1.0 || rho > 0.7 && rhos >= 1.0) {
            if self.slow_start {
                let up = self.ss_n > 0.0 && n / self.ss_n > 1.3; let e = if up { 1.0 - (r_abs / self.ss_r).ln() / (n / self.ss_n).ln() } else { 1.0 };
                if e > 0.4 && (r < 1.35 || up) { if r > 1.0 && up && e > 0.75 { self.learn(0.5, r); self.rs = 0.0 } self.ss_n = n; self.ss_r = r_abs; let l = self.limit * 2.0; self.set(now, l) } else { self.slow_start = false } }
            else if self.streak >= 3 { if r < 1.0 + 0.5 * (t - 1.0) { let l = self.limit * 1.5; self.set(now, l) } else { self.streak = 0 } }
            else if held >= 2.0 * r_abs { self.streak = if clear { self.streak + 1 } else { 0 }; let l = self.limit * rhos.min(1.5).powf(0.35); self.set(now, l) } }
        else if bound { self.streak = 0;
            if rho < 0.7 { self.rs = 0.0; self.next_probe = self.next_probe.min((now + 20.0 * r_abs).max(self.probe_min)); self.ref_n = 0.0; self.saved = self.limit; let l = self.limit * rho.max(0.6); self.set(now, l); self.mode = Mode::Verify; return }
            let l = self.limit * rhos.min(1.0).powf(0.35); self.set(now, l) }
        if any { if self.streak == 0 && held >= 10.0 * r_abs && now >= self.next_probe {
                self.ref_n = n; self.ref_r = r_abs; self.saved = self.limit; self.next_probe = now + 20.0 * r_abs;
                if rhos < 0.87 { self.mode = Mode::Verify; self.ref_limit = self.limit; let l = self.limit * 0.6; self.set(now, l) }
                else { self.mode = Mode::Probe; self.pf = 1.0; let l = (0.75 * bdp).max(0.35 * n).floor().max(1.0).min(0.8 * self.limit); self.set(now, l); self.changed = now } } }
        else { if now - self.changed > 10.0 * r_abs { self.streak = 0; self.slow_start = false }
            if now - self.last_bound > 2000f64.max(20.0 * r_abs) {
                self.tracked += 1.0; let dt = (now - self.w.t0).min(20_000.0); let w = (1.0 / (self.tracked + 1.0)).max(1.0 - (-dt / 20_000.0).exp()); self.learn(w, r);
                if r < 1.5 { if now - self.pk_t > 10_000.0 { self.pk_prev = self.pk; self.pk = 0.0; self.pk_t = now } self.pk = self.pk.max(n.min(n_prev) - 1.0);
                    let want = 4.5 * (1.0 + self.cv) * self.pk.max(self.pk_prev);
                    if want > self.limit { self.limit = want.min(1.2 * self.limit).min(self.max) } else if self.limit > 2.5 * want.max(self.init) { self.limit *= 0.97 } } } }
    }
}
impl OnePage {
    /// Takes a sample; gives the next limit.
    pub fn limit_after(&mut self, s: &Sample) -> f64 { self.sample(s); self.limit }
    fn sample(&mut self, s: &Sample) {
 let rtt = s.rtt_ms.max(0.001);
        let wait = match self.mode { Mode::Recover => 0.0, _ if self.slow_start => 1.0, _ => 2.0 } * self.r_last;
        if s.now_ms < self.changed + wait || (s.dropped && s.started_ms < self.changed) { return }
        if self.w.t0 < self.changed || self.w.t0 < 0.0 { self.open(s.now_ms) }
        if s.dropped { self.w.drops += 1.0 } else {
            let o = &mut self.ops[s.operation.map_or(64, |operation| usize::from(operation).min(64))]; if o.base == 0.0 { o.base = rtt } o.n += 1.0; o.sum += rtt;
            let x = rtt / o.base; self.w.base_sum += o.base; self.w.n += 1.0; self.w.sum += rtt; self.w.x += x; self.w.xx += x * x }
        if self.first_start < 0.0 { self.first_start = s.started_ms }
        let nf = f64::from(s.inflight); self.w.inflight += nf; if nf >= self.limit.floor() { self.w.bound += 1.0 }
        let tot = self.w.n + self.w.drops; let need = match self.mode { Mode::Recover => self.limit.min(16.0).max(4.0), Mode::Loss => 32.0, _ => 16.0 };
        if tot < need { return }
        if self.r_last == 0.0 {
            if s.now_ms - self.first_start < 3.0 * self.w.sum / self.w.n.max(1.0) { return }
            if self.w.n >= 4.0 { let mut b = 0.0; for o in &mut self.ops { if o.n > 0.0 { o.base = o.sum / o.n; b += o.sum } } self.w.base_sum = b } }
        if self.mode != Mode::Recover && self.w.drops < 0.25 * tot {
            let full = (self.win_cv2() / 0.01).min(256.0); let run = self.mode == Mode::Run; let need = if run { full } else { full.max(32.0).min(128.0) };
            if (tot < need && self.r_last > 0.0) || s.now_ms - self.w.t0 < if run { 0.5 } else { 1.0 } * self.r_last.max(self.w.sum / self.w.n) { return } }
        self.close(s.now_ms); self.open(s.now_ms);
    }
}

