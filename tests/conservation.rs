//! A long random run over several segments of one engine: no permit is lost, none is invented.

#[path = "support/alarms.rs"]
mod alarms;
#[path = "support/random.rs"]
mod random;

use std::collections::HashMap;

use alarms::Alarms;
use random::Random;
use resilience::core::algorithm::{Aimd, Algorithm, Gradient2};
use resilience::core::clock::Nanos;
use resilience::core::effect::Effect;
use resilience::core::engine::Engine;
use resilience::core::error::Error;
use resilience::core::gate::Gate;
use resilience::core::gate::adaptive::Adaptive;
use resilience::core::gate::concurrency::Concurrency;
use resilience::core::gate::deadline::Deadline;
use resilience::core::outcome::{Outcome, Outcomes};
use resilience::core::queue::Overflow;
use resilience::core::segment::Entry;
use resilience::core::slab::Key;
use resilience::core::timers::Driver;

const STEPS: usize = 200_000;
/// More open executions than this, and one of them ends.
const CROWD: usize = 60;

/// How many gates an execution is known to have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It queues somewhere.
    Queued,
    /// It runs, or has ended further in, and holds the permits of so many gates.
    Passed(usize),
}

/// Uniform below `end`.
fn pick(random: &mut Random, end: usize) -> usize {
    usize::try_from(random.bits() >> 32).expect("32 bits") % end
}

/// The user of the engine, who keeps books of its own.
struct User {
    engine: Engine,
    /// Each segment and its number of gates. No deadline has two limiters inside it, so that it
    /// is known where an execution queued that has run out of time.
    segments: Vec<(Key, usize)>,
    alarms: Alarms,
    random: Random,
    now_ms: f64,
    open: Vec<Key>,
    books: HashMap<Key, (usize, Known)>,
    stale: Vec<Key>,
    /// Effects seen: admitted, rejected, timed out, limit changed.
    seen: [usize; 4],
}

fn fixed(limit: u32, queue: usize, queue_timeout_ms: f64, overflow: Overflow) -> Gate {
    Gate::Concurrency(Concurrency::new(limit, queue, queue_timeout_ms, overflow))
}

fn adaptive(queue: usize, algorithm: Algorithm) -> Gate {
    let permits = Concurrency::new(6, queue, 40.0, Overflow::DropLowestPriority);
    Gate::Adaptive(Adaptive::new(permits, algorithm, 1, 12))
}

const fn deadline(timeout_ms: f64) -> Gate {
    Gate::Deadline(Deadline { timeout_ms })
}

fn segments() -> Vec<Vec<Gate>> {
    vec![
        vec![fixed(3, 5, f64::INFINITY, Overflow::DropOldest)],
        vec![deadline(30.0), fixed(4, 4, 20.0, Overflow::RejectNew)],
        vec![adaptive(4, Algorithm::Aimd(Aimd::default())), deadline(25.0)],
        vec![fixed(8, 3, 15.0, Overflow::DropLowestPriority), adaptive(3, Algorithm::Outside), deadline(50.0)],
        vec![
            fixed(5, 6, 60.0, Overflow::DropOldest),
            deadline(35.0),
            adaptive(2, Algorithm::Gradient2(Gradient2::default())),
            deadline(12.5),
        ],
    ]
}

impl User {
    fn new(seed: u64) -> Self {
        let mut engine = Engine::default();
        let segments = segments()
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
            seen: [0; 4],
        }
    }

    fn step(&mut self) {
        let driver = if pick(&mut self.random, 10) == 0 { Driver::Outside } else { Driver::Wheel };
        self.engine.at(Nanos::from_ms(self.now_ms), driver);
        match pick(&mut self.random, 100) {
            0..45 if self.open.len() < CROWD => self.enter(),
            0..85 => self.exit(),
            85..90 => self.mark(),
            90..99 => self.pass_time(),
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
        let outcome =
            [Outcome::Success, Outcome::Success, Outcome::Drop, Outcome::NoSample][pick(&mut self.random, 4)];
        self.engine.exit(ticket, Outcomes::all(outcome)).expect("an open ticket");
        self.books.remove(&ticket);
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
                self.seen[0] += 1;
            }
            Effect::Rejected { ticket, refusal } => {
                assert_eq!(self.books[&ticket].1, Known::Queued, "rejected, and not from a queue");
                self.know(ticket, Known::Passed(refusal.gate));
                self.seen[1] += 1;
            }
            Effect::TimedOut { ticket, gate } => {
                let (index, known) = self.books[&ticket];
                if known == Known::Queued {
                    let (segment, gates) = self.segments[index];
                    let limiter = (gate..gates).find(|gate| self.engine.permits(segment, *gate).is_some());
                    self.know(ticket, Known::Passed(limiter.expect("it queued inside its deadline")));
                }
                self.seen[2] += 1;
            }
            Effect::LimitChanged { .. } => self.seen[3] += 1,
            Effect::Sampled { segment, gate, sample, cuts } => {
                let next = if sample.dropped { sample.limit * 0.7 } else { sample.limit + 0.4 };
                self.engine.apply_limit(segment, gate, next, sample, cuts).expect("an adaptive limiter");
            }
            Effect::Armed { timer, delay_ms } => self.alarms.arm(timer, self.engine.now(), delay_ms),
            Effect::Disarmed { timer } => self.alarms.disarm(timer),
        }
    }

    fn know(&mut self, ticket: Key, known: Known) {
        self.books.get_mut(&ticket).expect("an open ticket").1 = known;
    }

    /// Every permit in use has a holder in the books: an execution known to have passed the gate, or one that
    /// queues further in.
    fn audit(&self) {
        assert_eq!(self.engine.open(), self.open.len());
        for (index, (segment, gates)) in self.segments.iter().enumerate() {
            let own: Vec<Known> =
                self.books.values().filter(|(at, _)| *at == index).map(|(_, known)| *known).collect();
            let mut queued_within = 0;
            for gate in (0..*gates).rev() {
                let Some(permits) = self.engine.permits(*segment, gate) else { continue };
                let holds = |known: &&Known| matches!(known, Known::Passed(passed) if *passed > gate);
                let holders = own.iter().filter(holds).count() + queued_within;
                assert_eq!(permits.in_flight() as usize, holders, "segment {index}, gate {gate}: {own:?}");
                queued_within += permits.queued();
            }
            assert_eq!(own.iter().filter(|known| **known == Known::Queued).count(), queued_within);
        }
    }
}

#[test]
fn permits_are_neither_lost_nor_invented() {
    let mut user = User::new(20);
    for step in 0..STEPS {
        user.step();
        if step % 7 == 0 {
            user.audit();
        }
        if step % 20_000 == 0 {
            while !user.open.is_empty() {
                user.exit();
            }
            user.audit();
        }
    }
    while !user.open.is_empty() {
        user.exit();
    }
    user.audit();
    assert_eq!(user.engine.open(), 0);
    assert_eq!(user.engine.next_tick(), None);
    assert!(user.alarms.is_empty());
    println!("admitted, rejected, timed out, limit changed: {:?}", user.seen);
    assert!(user.seen.iter().all(|count| *count > 1000), "{:?}", user.seen);
}
