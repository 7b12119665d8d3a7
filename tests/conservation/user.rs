//! The user of the engine, who keeps books of its own.

use std::collections::{BTreeMap, HashMap};

use resilience::core::clock::Nanos;
use resilience::core::effect::Effect;
use resilience::core::engine::Engine;
use resilience::core::error::Error;
use resilience::core::gate::Gate;
use resilience::core::gate::circuit_breaker::{Circuit, CircuitBreaker, Passage};
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

use super::alarms::Alarms;
use super::gates::pick;
use resilience::core::random::Random;

/// More open executions than this, and one of them ends.
const CROWD: usize = 60;

/// How many gates an execution is known to have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It queues somewhere.
    Queued,
    /// It runs, or has ended further in, and holds the permits of so many gates.
    Passed(usize),
    /// It ran out of time in one queue or another.
    Lost,
}

/// The engine, and the books.
pub struct User {
    engine: Engine,
    /// Each segment and its number of gates.
    segments: Vec<(Key, usize)>,
    alarms: Alarms,
    random: Random,
    now_ms: f64,
    open: Vec<Key>,
    books: HashMap<Key, (usize, Known)>,
    stale: Vec<Key>,
    sleeps: Vec<Key>,
    /// How often each effect was seen.
    pub seen: BTreeMap<&'static str, usize>,
}

impl User {
    pub fn new(seed: u64, segments: Vec<Vec<Gate>>) -> Self {
        let mut engine = Engine::default();
        let segments = segments
            .into_iter()
            .map(|gates| {
                let count = gates.len();
                (engine.add_segment(gates).expect("a segment of few gates"), count)
            })
            .collect();
        Self {
            engine,
            segments,
            alarms: Alarms::default(),
            random: Random::new(seed),
            now_ms: 0.0,
            open: Vec::new(),
            books: HashMap::new(),
            stale: Vec::new(),
            sleeps: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    pub fn step(&mut self) {
        let driver = if pick(&mut self.random, 10) == 0 { Driver::Outside } else { Driver::Wheel };
        self.engine.at(Nanos::from_ms(self.now_ms), driver);
        match pick(&mut self.random, 100) {
            0..45 if self.open.len() < CROWD => self.enter(),
            0..85 => self.exit(),
            85..90 => self.mark(),
            90..98 => self.pass_time(),
            98 => self.sleep_or_wake(),
            _ => self.dispose(),
        }
        self.try_stale();
    }

    fn enter(&mut self) {
        let index = pick(&mut self.random, self.segments.len());
        let (segment, gates) = self.segments[index];
        let parameter = [None, Some(1.0), Some(3.0), Some(20.0)][pick(&mut self.random, 4)];
        let known = match self.engine.enter(segment, parameter).expect("the segment is there") {
            Entry::Running(ticket) => Some((ticket, Known::Passed(gates))),
            Entry::Waiting(ticket) => Some((ticket, Known::Queued)),
            Entry::Refused(_) => None,
        };
        if let Some((ticket, known)) = known {
            self.open.push(ticket);
            assert_eq!(self.books.insert(ticket, (index, known)), None, "a ticket given out twice");
        }
        self.react();
    }

    fn exit(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let index = pick(&mut self.random, self.open.len());
        let ticket = self.open.swap_remove(index);
        let outcomes = [Outcome::Success, Outcome::Drop, Outcome::NoSample, Outcome::Unhandled];
        let outcome = outcomes[pick(&mut self.random, 7).saturating_sub(3)];
        let moved = self.engine.exit(ticket, Outcomes::all(outcome)).expect("an open ticket");
        let of_a_circuit =
            |effect: &Effect| matches!(effect, Effect::CircuitOpened { .. } | Effect::CircuitClosed { .. });
        assert_eq!(moved, self.engine.effects().iter().any(of_a_circuit));
        if let Some((index, Known::Queued)) = self.books.remove(&ticket)
            && self.engine.rate_limiter(self.segments[index].0, 0).is_ok()
        {
            self.saw("aborted in a rate limiter's segment");
        }
        if self.stale.len() < 1000 {
            self.stale.push(ticket);
        } else {
            let place = pick(&mut self.random, 1000);
            self.stale[place] = ticket;
        }
        self.react();
    }

    fn mark(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let ticket = self.open[pick(&mut self.random, self.open.len())];
        if self.books[&ticket].1 != Known::Queued {
            self.engine.mark(ticket).expect("an open ticket");
            self.react();
        }
    }

    fn pass_time(&mut self) {
        self.now_ms += self.random.exponential(8.0);
        let now = Nanos::from_ms(self.now_ms);
        self.engine.at(now, Driver::Wheel);
        self.engine.tick();
        self.react();
        while let Some(timer) = self.alarms.pop(now) {
            self.engine.expire(timer);
            self.react();
        }
    }

    fn dispose(&mut self) {
        let (segment, _) = self.segments[pick(&mut self.random, self.segments.len())];
        self.engine.dispose(segment).expect("the segment is there");
        self.react();
    }

    fn sleep_or_wake(&mut self) {
        if self.sleeps.len() < 5 {
            let delay_ms = self.random.exponential(30.0);
            self.sleeps.push(self.engine.sleep(delay_ms));
        } else {
            let index = pick(&mut self.random, self.sleeps.len());
            self.engine.wake(self.sleeps.swap_remove(index));
        }
        self.react();
    }

    fn try_stale(&mut self) {
        if self.stale.is_empty() {
            return;
        }
        let ticket = self.stale[pick(&mut self.random, self.stale.len())];
        assert_eq!(self.engine.exit(ticket, Outcomes::default()), Err(Error::StaleTicket));
        assert_eq!(self.engine.mark(ticket), Err(Error::StaleTicket));
        assert_eq!(*self.engine.effects(), []);
    }

    fn react(&mut self) {
        while !self.engine.effects().is_empty() {
            for effect in std::mem::take(self.engine.effects()) {
                self.act(effect);
            }
        }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Admitted { ticket } => {
                let (index, known) = self.books[&ticket];
                assert_eq!(known, Known::Queued, "admitted twice");
                self.know(ticket, Known::Passed(self.segments[index].1));
                self.saw("admitted");
            }
            Effect::Rejected { ticket, refusal } => {
                assert_eq!(self.books[&ticket].1, Known::Queued, "rejected, and not from a queue");
                self.know(ticket, Known::Passed(refusal.gate));
                self.saw("rejected");
            }
            Effect::TimedOut { ticket, gate } => {
                let (index, known) = self.books[&ticket];
                if known == Known::Queued {
                    let queues: Vec<usize> = (gate..self.segments[index].1)
                        .filter(|gate| self.can_queue(self.segments[index].0, *gate))
                        .collect();
                    assert_ne!(queues, [], "it queued inside its deadline");
                    self.know(ticket, if queues.len() == 1 { Known::Passed(queues[0]) } else { Known::Lost });
                }
                self.saw("timed out");
            }
            Effect::LimitChanged { .. } => self.saw("limit changed"),
            Effect::LimitDecided { .. } => self.saw("limit decided"),
            Effect::Sampled { segment, gate, sample, cuts } => {
                let next = if sample.dropped { sample.limit * 0.7 } else { sample.limit + 0.4 };
                self.engine.apply_limit(segment, gate, next, sample, cuts).expect("an adaptive limiter");
            }
            Effect::CircuitOpened { segment, gate, opening, .. } => {
                self.saw("opened");
                let breaker = self.engine.circuit_breaker(segment, gate).expect("a breaker");
                breaker.set_break(opening.epoch, opening.break_ms * f64::from(1 + opening.half_open_attempts % 3));
            }
            Effect::CircuitHalfOpened { ticket, .. } => {
                assert!(self.books.contains_key(&ticket), "the probe is open");
                self.saw("half-opened");
            }
            Effect::CircuitClosed { .. } => self.saw("closed"),
            Effect::KeyEvicted { .. } => self.saw("key evicted"),
            Effect::Woken { sleep } => {
                let index = self.sleeps.iter().position(|own| *own == sleep).expect("a sleep that was not ended");
                self.sleeps.swap_remove(index);
                self.saw("woken");
            }
            Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
            Effect::Disarmed { timer } => self.alarms.disarm(timer),
        }
    }

    fn know(&mut self, ticket: Key, known: Known) {
        self.books.get_mut(&ticket).expect("an open ticket").1 = known;
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn can_queue(&self, segment: Key, gate: usize) -> bool {
        self.engine.permits(segment, gate).is_some() || self.engine.rate_limiter(segment, gate).is_ok()
    }

    /// Every permit in use has a holder in the books: an execution known to have passed the gate, or one that
    /// queues further in. Those of whom that is not known may hold one each.
    pub fn audit(&self) {
        assert_eq!(self.engine.open(), self.open.len());
        for (index, (segment, gates)) in self.segments.iter().enumerate() {
            let own: Vec<Known> =
                self.books.values().filter(|(at, _)| *at == index).map(|(_, known)| *known).collect();
            let mut queued_within = 0;
            for gate in (0..*gates).rev() {
                if let Some(permits) = self.engine.permits(*segment, gate) {
                    let holds = |known: &&Known| matches!(known, Known::Passed(passed) if *passed > gate);
                    let holders = own.iter().filter(holds).count() + queued_within;
                    let perhaps = own.iter().filter(|known| **known == Known::Lost).count();
                    let in_flight = permits.in_flight() as usize;
                    assert!(
                        (holders..=holders + perhaps).contains(&in_flight),
                        "segment {index}, gate {gate}: {in_flight} in flight, {own:?}"
                    );
                }
                queued_within += self.engine.queued(*segment, gate);
            }
            assert_eq!(own.iter().filter(|known| **known == Known::Queued).count(), queued_within);
        }
    }

    /// Everyone leaves, and nothing remains.
    pub fn go_home(&mut self) {
        while !self.open.is_empty() {
            self.exit();
        }
        for sleep in std::mem::take(&mut self.sleeps) {
            self.engine.wake(sleep);
            self.react();
        }
        self.audit();
        assert_eq!((self.engine.open(), self.engine.sleeping(), self.engine.next_tick()), (0, 0, None));
        assert!(self.alarms.is_empty());
        for (segment, gates) in self.segments.clone() {
            for gate in 0..gates {
                assert_eq!(self.engine.permits(segment, gate).map_or(0, Concurrency::in_flight), 0);
                assert_eq!(self.engine.queued(segment, gate), 0);
                if let Ok(breaker) = self.engine.circuit_breaker(segment, gate) {
                    let now = Nanos::from_ms(self.now_ms);
                    check_probes(breaker, now);
                }
            }
        }
    }
}

/// All probes of a circuit have left, so it lets some in, and as many again when those are gone.
fn check_probes(breaker: &mut CircuitBreaker, now: Nanos) {
    let later = now.plus_ms(breaker.break_remaining_ms(now));
    if breaker.circuit(later) != Circuit::HalfOpen {
        return;
    }
    let [first, second] = [(); 2].map(|()| {
        let probes: Vec<u64> = std::iter::from_fn(|| match breaker.enter(later) {
            Passage::Open { epoch, .. } => Some(epoch),
            _ => None,
        })
        .collect();
        for epoch in &probes {
            assert_eq!(breaker.leave(*epoch, (later, later, later), Outcome::NoSample), None);
        }
        probes.len()
    });
    assert!((1..=4).contains(&first), "{first} probes");
    assert_eq!(first, second);
}
