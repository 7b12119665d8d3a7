//! What goes on outside of the thread, whatever it does: calls come, the dependency works, things change.

use super::{Event, Open, State, World};
use crate::core::simulate::event_loop::kernel::Ready;
use crate::core::simulate::record::{Call, End, Record};
use crate::core::simulate::scenario::{Phase, Stall};
use crate::core::slab::Key;

impl World<'_> {
    /// Lets everything happen that the world outside of the thread does until `at`.
    pub(super) fn happen_until(&mut self, at: f64) {
        loop {
            let (planned, finish) = (self.plan.next().unwrap_or(f64::INFINITY), self.dependency.next_finish());
            if planned.min(finish) > at {
                return;
            }
            if finish <= planned {
                if let Some(call) = self.dependency.finish(finish) {
                    self.kernel.push(Ready::Continuation(call));
                }
                self.serve(finish);
            } else if let Some(event) = self.plan.pop() {
                self.happen(event, planned);
            }
        }
    }

    pub(super) fn next_event(&self) -> f64 {
        self.plan.next().unwrap_or(f64::INFINITY).min(self.dependency.next_finish())
    }

    fn happen(&mut self, event: Event, at: f64) {
        match event {
            Event::Phase(index) => self.change(&self.scenario.phases[index], at),
            Event::Arrival { caller, epoch } if epoch == self.sources[caller].epoch() => {
                self.plan_arrival(caller, at);
                for _ in 0..self.sources[caller].together() {
                    self.arrive(caller, 0, at);
                }
            }
            Event::Arrival { .. } => {}
            Event::Again { caller, attempts } => self.arrive(caller, attempts, at),
            Event::Stall { begins, epoch } => {
                if let Some(stall) = self.stall.filter(|_| epoch == self.stall_epoch) {
                    self.dependency.set_stalled(begins, at);
                    let rest = if begins { stall.length_ms } else { stall.every_ms - stall.length_ms };
                    self.plan.push(at + rest, Event::Stall { begins: !begins, epoch });
                }
            }
            Event::Mark => self.mark(at),
        }
    }

    fn mark(&mut self, at: f64) {
        self.sum_up(at);
        self.record.marks.push(self.sums);
    }

    fn sum_up(&mut self, at: f64) {
        let lasted = at - self.sums.at_ms;
        self.sums.limit += f64::from(self.limit) * lasted;
        self.sums.inflight += f64::from(self.inflight) * lasted;
        self.sums.at_ms = at;
    }

    /// Before what is summed up changes: marks that were due until now come first.
    pub(super) fn catch_up(&mut self) {
        self.happen_until(self.now);
        self.sum_up(self.now);
    }

    pub(super) fn plan_arrival(&mut self, caller: usize, at: f64) {
        let epoch = self.sources[caller].epoch();
        if let Some(gap) = self.sources[caller].gap_ms() {
            self.plan.push(at + gap, Event::Arrival { caller, epoch });
        }
    }

    fn arrive(&mut self, caller: usize, attempts: u32, at: f64) {
        let (described, source) = (&self.scenario.callers[caller], &mut self.sources[caller]);
        let service = described.service.unwrap_or(self.scenario.dependency.service);
        let open = Open {
            caller,
            came: at,
            attempts,
            service_ms: service.draw(source.services()),
            cpu_ms: described.cpu.unwrap_or(self.event_loop.cpu).draw(source.cpus()),
            is_lost: self.losses.unit() < self.loss,
            io_calls: self.event_loop.io_calls,
            state: State::Unread,
        };
        let call = self.calls.insert(open);
        if !self.event_loop.fresh {
            self.kernel.push(Ready::Call(call));
        } else if !self.kernel.connect(call) {
            self.finish(call, End::Lost);
        }
    }

    fn change(&mut self, phase: &Phase, at: f64) {
        if let Some(workers) = phase.workers {
            self.dependency.set_workers(workers, at);
            self.serve(at);
        }
        self.slowdown = phase.slowdown.unwrap_or(self.slowdown);
        self.loss = phase.loss.unwrap_or(self.loss);
        if let Some(stall) = phase.stall {
            self.set_stall(stall, at);
        }
        for (caller, rate) in phase.rates.iter().enumerate().filter(|(_, rate)| !rate.is_nan()) {
            self.sources[caller].set_rate(*rate);
            self.plan_arrival(caller, at);
        }
    }

    pub(super) fn set_stall(&mut self, stall: Option<Stall>, at: f64) {
        self.stall = stall;
        self.stall_epoch += 1;
        self.dependency.set_stalled(false, at);
        if let Some(stall) = stall {
            self.plan.push(at + stall.every_ms, Event::Stall { begins: true, epoch: self.stall_epoch });
        }
    }

    pub(super) fn serve(&mut self, at: f64) {
        let Self { dependency, calls, slowdown, .. } = self;
        dependency.begin(at, |call| calls.get(call).map(|open| open.service_ms * *slowdown));
    }

    /// Forgets a call; records its end if that has not been done, and plans what its caller does next.
    pub(super) fn finish(&mut self, call: Key, end: End) {
        let Some(open) = self.calls.remove(call) else { return };
        if open.state != State::Recorded {
            self.note(&open, end);
        }
        let source = &mut self.sources[open.caller];
        let retry = if end == End::Answered { None } else { source.retry_ms(open.attempts) };
        if let Some(delay) = retry {
            let again = Event::Again { caller: open.caller, attempts: open.attempts + 1 };
            self.plan.push(self.now + delay, again);
        } else if let Some(pause) = source.think_ms(matches!(end, End::Refused | End::RefusedIdle)) {
            self.plan.push(self.now + pause, Event::Again { caller: open.caller, attempts: 0 });
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a latency to seven digits, and at most 256 callers")]
    pub(super) fn note(&mut self, open: &Open, end: End) {
        let took_ms = (self.now - open.came) as f32;
        self.record.calls.push(Call { ended_ms: self.now, took_ms, caller: open.caller as u8, end });
    }

    pub(super) fn end(mut self) -> Record {
        self.happen_until(self.scenario.duration_ms);
        self.mark(self.scenario.duration_ms);
        let open: Vec<Open> = self.calls.keys().filter_map(|call| self.calls.get(call).copied()).collect();
        for open in open {
            if open.state != State::Recorded {
                self.note(&open, End::Open);
            }
        }
        self.record
    }
}
