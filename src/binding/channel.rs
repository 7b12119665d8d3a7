//! The array of doubles that JavaScript owns and both sides read and write without a crossing.
//!
//! A header of [`HEADER`] numbers, then a ring of [`RECORDS`] effects of [`RECORD`] numbers each. Both counters
//! of the ring only grow. `lib/native.js` has the same layout, and a test compares the two.

use napi::bindgen_prelude::Float64Array;

use crate::core::algorithm::Sample;
use crate::core::algorithm::knee::decision::{Decision, Rule};
use crate::core::clock::Nanos;
use crate::core::effect::{Effect, Reason, Refusal};
use crate::core::engine::Engine;
use crate::core::gate::circuit_breaker::Opening;
use crate::core::slab::Key;
use crate::core::turns::gate::Turns;

/// By JavaScript: the fake clock in milliseconds, or NaN for the machine's.
const CLOCK_OVERRIDE: usize = 0;
/// By JavaScript: effects read.
const READ: usize = 1;
/// By Rust: effects written.
const WRITTEN: usize = 2;
/// By Rust: effects that found no room in the ring.
const BACKLOG: usize = 3;
/// By Rust: the millisecond of the machine's clock at which `due` has to be called, infinite for never.
const WAKE: usize = 4;
/// By Rust: the machine's clock in milliseconds.
const CLOCK: usize = 5;
/// By Rust: executions that held a permit when the last newcomer was refused.
const ACTIVE: usize = 6;
/// By Rust: executions that waited at that moment.
const QUEUED: usize = 7;
/// By Rust: milliseconds until that gate may let one in again, or NaN.
const RETRY_AFTER: usize = 8;
/// By JavaScript: the first argument of those closures that take theirs from here.
const FIRST: usize = 9;
/// By JavaScript: their second.
const SECOND: usize = 10;
/// By Rust: their answer.
const ANSWER: usize = 11;
/// By JavaScript: their third and fourth.
const THIRD: usize = 12;
const FOURTH: usize = 13;
/// By Rust: 1 when its side is gone, and a call would reach freed memory.
const CLOSED: usize = 14;
/// By Rust: 1 while a deadline is armed, for which the process has to stay alive, else 0.
const ARMED: usize = 15;
/// By Rust, after each call of the loop's gate: requests that wait there.
const LOOP_QUEUED: usize = 16;
/// By Rust, then: requests that were turned away after they had waited, to be taken by `loopRefused`.
const LOOP_REFUSED: usize = 17;
/// By Rust: why the last of those was.
const LOOP_REASON: usize = 18;
/// By Rust, after `loopOffer` has refused: how many milliseconds a newcomer would wait.
const LOOP_DELAY: usize = 19;
const HEADER: usize = 20;
const RECORD: usize = 12;
/// More than there are reasons of a refusal.
const REASONS: u32 = 8;
const RECORDS: usize = 128;

/// The numbers that the array must hold.
pub const LENGTH: usize = HEADER + RECORDS * RECORD;

/// The shared array.
pub struct Channel(Float64Array);

impl Channel {
    /// `None` if the array has not exactly [`LENGTH`] numbers.
    pub fn new(array: Float64Array) -> Option<Self> {
        // Not made before it is known to be one: what is dropped is written to.
        (array.len() == LENGTH).then(|| Self(array))
    }

    /// The fake clock's time, if one is in use.
    pub fn clock_override(&mut self) -> Option<Nanos> {
        let ms = self.slots()[CLOCK_OVERRIDE];
        (!ms.is_nan()).then(|| Nanos::from_ms(ms))
    }

    /// The arguments of `loopOffer`.
    pub fn all_arguments(&mut self) -> [f64; 4] {
        let slots = self.slots();
        [slots[FIRST], slots[SECOND], slots[THIRD], slots[FOURTH]]
    }

    /// Leaves what the loop's gate holds after a call.
    pub fn tell_of_loop(&mut self, turns: &Turns) {
        let slots = self.slots();
        slots[LOOP_QUEUED] = count(turns.queued());
        slots[LOOP_REFUSED] = count(turns.untold());
    }

    /// Leaves why the loop's gate has turned away a request that waited.
    pub fn loop_reason(&mut self, reason: Reason) {
        self.slots()[LOOP_REASON] = reason_code(reason);
    }

    /// Leaves how long a newcomer would wait.
    pub fn loop_delay(&mut self, delay_ms: f64) {
        self.slots()[LOOP_DELAY] = delay_ms;
    }

    /// The arguments of `enter` or `exit`.
    pub fn arguments(&mut self) -> (f64, f64) {
        let slots = self.slots();
        (slots[FIRST], slots[SECOND])
    }

    /// The further arguments of `leave`.
    pub fn more_arguments(&mut self) -> (f64, f64, f64) {
        let slots = self.slots();
        (slots[SECOND], slots[THIRD], slots[FOURTH])
    }

    /// Takes the first argument out, so that a second try of the same call finds none.
    pub fn take_first(&mut self) -> f64 {
        std::mem::replace(&mut self.slots()[FIRST], f64::NAN)
    }

    /// Leaves the answer of a call.
    pub fn answer(&mut self, answer: f64) {
        self.slots()[ANSWER] = answer;
    }

    /// Leaves the counts of a refusal.
    pub fn refuse(&mut self, refusal: Refusal) {
        let slots = self.slots();
        slots[ACTIVE] = f64::from(refusal.active);
        slots[QUEUED] = count(refusal.queued);
        slots[RETRY_AFTER] = refusal.retry_after_ms.unwrap_or(f64::NAN);
    }

    /// Leaves the state after a call: the clock, the next deadline, and as many effects as there is room for.
    pub fn publish(&mut self, now: Nanos, engine: &mut Engine) {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
        let tick = engine.next_tick().map_or(f64::INFINITY, |tick| tick as f64);
        let look = engine.next_look().map_or(f64::INFINITY, Nanos::as_ms);
        let effects = engine.effects();
        let slots = self.slots();
        slots[CLOCK] = now.as_ms();
        slots[WAKE] = tick.min(look);
        slots[ARMED] = f64::from(u8::from(tick < f64::INFINITY));
        if effects.is_empty() {
            return;
        }
        let unread = index(slots[WRITTEN] - slots[READ]);
        let taken = effects.len().min(RECORDS - unread);
        for effect in effects.drain(..taken) {
            let start = HEADER + index(slots[WRITTEN]) % RECORDS * RECORD;
            slots[start..start + RECORD].copy_from_slice(&record(effect));
            slots[WRITTEN] += 1.0;
        }
        slots[BACKLOG] = count(effects.len());
    }

    #[expect(unsafe_code, reason = "an array shared with JavaScript cannot be borrowed safely")]
    fn slots(&mut self) -> &mut [f64] {
        // SAFETY: `lib/native.js` makes the array for this use alone, keeps it private and never detaches it;
        // `self.0` holds a reference, so it outlives this borrow. JavaScript runs on this same thread, and no
        // borrow lasts into JavaScript. `new` has checked the length.
        unsafe { self.0.as_mut() }
    }
}

/// Some runtimes fire timers and tell of what was collected when they have torn addons down.
impl Drop for Channel {
    fn drop(&mut self) {
        self.slots()[CLOSED] = 1.0;
    }
}

/// An effect as numbers: its kind, its subject (ticket, segment, timer or sleep), its gate, and what belongs to it.
fn record(effect: Effect) -> [f64; RECORD] {
    let mut record = [0.0; RECORD];
    let mut set = |kind: f64, subject: Key, gate: usize, rest: &[f64]| {
        record[0] = kind;
        record[1] = subject.to_f64();
        record[2] = count(gate);
        record[3..3 + rest.len()].copy_from_slice(rest);
    };
    match effect {
        Effect::Admitted { ticket } => set(1.0, ticket, 0, &[]),
        Effect::Rejected { ticket, refusal: Refusal { gate, reason, active, queued, retry_after_ms } } => {
            let retry_after_ms = retry_after_ms.unwrap_or(f64::NAN);
            set(2.0, ticket, gate, &[reason_code(reason), f64::from(active), count(queued), retry_after_ms]);
        }
        Effect::TimedOut { ticket, gate } => set(3.0, ticket, gate, &[]),
        Effect::LimitChanged { segment, gate, old, new, sample } => {
            set(4.0, segment, gate, &with_sample(sample, [f64::from(old), f64::from(new)]));
        }
        Effect::Sampled { segment, gate, sample, cuts } => {
            set(5.0, segment, gate, &with_sample(sample, [f64::from(cuts), 0.0]));
        }
        Effect::Armed { timer, delay_ms } => set(6.0, timer, 0, &[delay_ms]),
        Effect::Disarmed { timer } => set(7.0, timer, 0, &[]),
        Effect::CircuitOpened { segment, gate, ticket, opening } => {
            let Opening { epoch, break_ms, failure_rate, failures, half_open_attempts } = opening;
            let (failures, attempts) = (f64::from(failures), f64::from(half_open_attempts));
            let rest = [ticket.to_f64(), epoch_number(epoch), break_ms, failure_rate, failures, attempts];
            set(8.0, segment, gate, &rest);
        }
        Effect::CircuitHalfOpened { segment, gate, ticket } => set(9.0, segment, gate, &[ticket.to_f64()]),
        Effect::CircuitClosed { segment, gate, ticket } => set(10.0, segment, gate, &[ticket.to_f64()]),
        Effect::KeyEvicted { segment, gate } => set(11.0, segment, gate, &[]),
        Effect::Woken { sleep } => set(12.0, sleep, 0, &[]),
        Effect::LimitDecided { segment, gate, decision } => {
            let Decision { rule, inflight, latency_ratio, target, drops, old_limit, new_limit } = decision;
            let rest = [rule_code(rule), inflight, latency_ratio, target, drops, old_limit, new_limit];
            set(13.0, segment, gate, &rest);
        }
    }
    record
}

/// A sample as numbers, and what else belongs to its effect.
fn with_sample(sample: Sample, [a, b]: [f64; 2]) -> [f64; 9] {
    let Sample { rtt_ms, inflight, dropped, limit, now_ms, started_ms, operation } = sample;
    let (inflight, dropped) = (f64::from(inflight), f64::from(u8::from(dropped)));
    [rtt_ms, inflight, dropped, limit, now_ms, started_ms, operation_code(operation), a, b]
}

/// A kind of operation as JavaScript knows it: its number, or -1 for none.
fn operation_code(operation: Option<u8>) -> f64 {
    operation.map_or(-1.0, f64::from)
}

/// A rule as JavaScript knows it: an index into its list of rules.
const fn rule_code(rule: Rule) -> f64 {
    match rule {
        Rule::Hold => 0.0,
        Rule::Grow => 1.0,
        Rule::Trim => 2.0,
        Rule::Cut => 3.0,
        Rule::Undo => 4.0,
        Rule::Probe => 5.0,
        Rule::ProbeDeeper => 6.0,
        Rule::ProbeEnd => 7.0,
        Rule::LossCut => 8.0,
        Rule::LossNotOurs => 9.0,
        Rule::Outage => 10.0,
        Rule::Recover => 11.0,
        Rule::Headroom => 12.0,
    }
}

/// A reason as JavaScript knows it: an index into its list of reasons, from 1.
const fn reason_code(reason: Reason) -> f64 {
    match reason {
        Reason::Full => 1.0,
        Reason::QueueTimeout => 2.0,
        Reason::Dropped => 3.0,
        Reason::Disposed => 4.0,
        Reason::Broken => 5.0,
        Reason::Isolated => 6.0,
    }
}

/// How JavaScript knows a refusal: by its reason, below eight, and in eights the gate.
pub fn refusal_code(Refusal { gate, reason, .. }: Refusal) -> f64 {
    f64::from(REASONS * u32::try_from(gate).unwrap_or(0)) + reason_code(reason)
}

#[expect(clippy::cast_precision_loss, reason = "an epoch a microsecond fits 53 bits for 285 years")]
const fn epoch_number(epoch: u64) -> f64 {
    epoch as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts of things in memory fit 53 bits")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counters that this module writes")]
const fn index(number: f64) -> usize {
    number as usize
}
