//! How an adaptive limiter's limit follows the executions that leave it.

use super::{Ledger, Segment};
use crate::core::algorithm::Sample;
use crate::core::clock::Nanos;
use crate::core::effect::Effect;
use crate::core::gate::Gate;
use crate::core::gate::adaptive::Observed;
use crate::core::outcome::{Outcome, Outcomes};
use crate::core::slab::Key;
use crate::core::ticket::Ticket;

impl Segment {
    /// Feeds an adaptive limiter.
    pub(super) fn observe(
        &mut self,
        ticket: &Ticket,
        index: usize,
        (since, cuts): (Nanos, u32),
        outcomes: Outcomes,
        ledger: &mut Ledger,
    ) {
        let Gate::Adaptive(adaptive) = &mut self.gates[index] else { return };
        let outcome = outcomes.of(index);
        if matches!(outcome, Outcome::NoSample | Outcome::Unhandled) {
            return;
        }
        let answered = ticket.first_byte.unwrap_or(ledger.now);
        let paused = outcome == Outcome::Success && ledger.paused_ms(since, answered, outcomes) > 0.0;
        if adaptive.disregards(paused) {
            return;
        }
        let sample = Sample {
            rtt_ms: answered.ms_since(since),
            inflight: adaptive.permits.in_flight(),
            dropped: outcome == Outcome::Drop,
            limit: adaptive.exact_limit(),
            now_ms: ledger.now.as_ms(),
            started_ms: since.as_ms(),
            operation: outcomes.operation(),
        };
        let segment = ticket.segment;
        let observed = adaptive.observe(sample, cuts);
        if let Some(decision) = adaptive.take_decision() {
            ledger.effects.push_back(Effect::LimitDecided { segment, gate: index, decision });
        }
        match observed {
            Observed::Same => {}
            Observed::Moved { old, new } => {
                ledger.effects.push_back(Effect::LimitChanged { segment, gate: index, old, new, sample });
            }
            Observed::Pending => {
                ledger.effects.push_back(Effect::Sampled { segment, gate: index, sample, cuts });
            }
        }
    }

    /// Takes the answer of an algorithm outside the core, and gives the exact limit that comes of it; `None` if
    /// there is no adaptive limiter at `index`.
    pub fn apply_limit(
        &mut self,
        id: Key,
        index: usize,
        (next, sample, cuts): (f64, Sample, u32),
        ledger: &mut Ledger,
    ) -> Option<f64> {
        let Some(Gate::Adaptive(adaptive)) = self.gates.get_mut(index) else { return None };
        let observed = adaptive.apply(next, sample, cuts);
        let limit = adaptive.exact_limit();
        if let Observed::Moved { old, new } = observed {
            ledger.effects.push_back(Effect::LimitChanged { segment: id, gate: index, old, new, sample });
            self.admit_waiters(index, ledger);
        }
        Some(limit)
    }
}
