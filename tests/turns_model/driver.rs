//! Plays what JavaScript does around the gate, and keeps books of its own.

use std::collections::BTreeMap;

use resilience::core::clock::Nanos;
use resilience::core::effect::Reason;
use resilience::core::slab::Key;
use resilience::core::turns::answers::{Ended, Offer, Offered, Turn};
use resilience::core::turns::gate::Turns;

pub const MAX_MS: f64 = 500.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Started,
}

/// A request that has not ended.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub key: Key,
    pub door: usize,
    pub level: usize,
    pub came: f64,
    pub state: State,
}

/// The gate, a loop around it, and what should be true.
pub struct Driver {
    turns: Turns,
    doors: Vec<Key>,
    now: f64,
    idle: f64,
    tells_idle: bool,
    is_due: bool,
    wake_at: f64,
    connections: u32,
    allowed: u32,
    /// By the order in which they came.
    pub open: BTreeMap<u64, Request>,
    came: u64,
    pub started: u64,
    pub refused: u64,
    pub cancelled: u64,
}

impl Driver {
    pub fn new(tells_idle: bool) -> Self {
        let mut turns = Turns::default();
        let doors = vec![turns.add_door(100.0, MAX_MS), turns.add_door(20.0, MAX_MS)];
        Self {
            turns,
            doors,
            now: 0.0,
            idle: 0.0,
            tells_idle,
            is_due: false,
            wake_at: f64::INFINITY,
            connections: 0,
            allowed: 0,
            open: BTreeMap::new(),
            came: 0,
            started: 0,
            refused: 0,
            cancelled: 0,
        }
    }

    pub const fn came(&self) -> u64 {
        self.came
    }

    const fn at(&self) -> Nanos {
        Nanos::from_ms(self.now)
    }

    fn told(&self) -> Option<f64> {
        self.tells_idle.then_some(self.idle)
    }

    /// The thread computes.
    pub fn spend(&mut self, ms: f64) {
        self.now += ms;
    }

    /// A request is read.
    pub fn offer(&mut self, door: usize, level: usize, patience_ms: f64) {
        let offer = Offer { door: self.doors[door], level, patience_ms };
        let unwatched = (!self.is_due).then(|| self.told());
        self.is_due = true;
        let answer = self.turns.offer(offer, unwatched, self.at()).expect("a door");
        self.came += 1;
        let (key, state) = match answer {
            Offered::Start(key) => (key, State::Started),
            Offered::Wait(key) => (key, State::Waiting),
            Offered::Refuse(delay_ms) => {
                assert!(delay_ms.is_finite() && delay_ms >= 0.0, "{delay_ms}");
                self.refused += 1;
                self.settle();
                return;
            }
        };
        if state == State::Started {
            assert_eq!(self.waiting(), 0, "it overtakes those that wait");
            self.started += 1;
        }
        self.open.insert(self.came, Request { key, door, level, came: self.now, state });
        self.settle();
    }

    pub fn connect(&mut self) {
        self.connections += 1;
        self.is_due |= self.turns.queued() > 0;
    }

    /// The nth that is open ends, or its client leaves.
    pub fn end(&mut self, nth: usize) {
        let Some((&order, &Request { key, state, .. })) = self.open.iter().nth(nth % self.open.len().max(1))
        else {
            return;
        };
        self.open.remove(&order);
        let answer = self.turns.end(key, self.at());
        if state == State::Waiting {
            self.cancelled += 1;
            assert_eq!(answer, Ended::Nothing);
        }
        assert_eq!(self.turns.end(key, self.at()), Ended::Nothing, "a second end");
        match answer {
            Ended::Nothing => {}
            Ended::Check => self.is_due = true,
            Ended::Start => {
                self.is_due = true;
                self.allowed += 1;
            }
        }
        self.settle();
    }

    /// An adapter is disposed.
    pub fn close(&mut self, door: usize) {
        let waiting = self.open.values().filter(|one| one.door == door && one.state == State::Waiting).count();
        let before = self.refused;
        self.turns.close(self.doors[door], self.at());
        self.settle();
        assert_eq!(self.refused - before, waiting as u64);
    }

    /// All jobs of a callback are done.
    fn settle(&mut self) {
        self.take_refused();
        while self.allowed > 0 {
            self.allowed -= 1;
            let next = self.turns.acknowledge(self.at());
            self.take_refused();
            if let Some(key) = next {
                self.start(key);
            }
        }
        self.check_books();
    }

    fn take_refused(&mut self) {
        while let Some((key, reason)) = self.turns.take_refused() {
            let (order, request) = self.find(key);
            assert_eq!(request.state, State::Waiting, "one that has started is refused");
            assert!(reason != Reason::QueueTimeout || self.now > request.came, "one that has not waited");
            self.open.remove(&order);
            self.refused += 1;
        }
    }

    fn start(&mut self, key: Key) {
        let (order, request) = self.find(key);
        assert_eq!(request.state, State::Waiting, "it starts twice");
        assert!(self.now - request.came <= MAX_MS + 1e-3, "it has waited too long to start");
        let best = self.open.iter().filter(|(_, one)| one.state == State::Waiting);
        let best = best.min_by_key(|(order, one)| (one.level, **order)).expect("one that waits");
        assert_eq!(*best.0, order, "by importance, then by arrival");
        self.open.get_mut(&order).expect("found").state = State::Started;
        self.started += 1;
    }

    fn find(&self, key: Key) -> (u64, Request) {
        let found = self.open.iter().find(|(_, request)| request.key == key);
        let (order, request) = found.expect("a request that is open: neither gone nor ended");
        (*order, *request)
    }

    pub fn waiting(&self) -> usize {
        self.open.values().filter(|request| request.state == State::Waiting).count()
    }

    fn check_books(&mut self) {
        self.turns.heard();
        let live = self.turns.live(self.at());
        assert_eq!(live.queued, self.waiting());
        assert_eq!(live.inflight as usize, self.open.len() - self.waiting());
        assert_eq!(self.turns.open(), self.open.len());
        assert!(live.limit >= 1.0);
        for number in [live.delay_ms, live.pace_ms, live.load] {
            assert!(number.is_finite() && number >= 0.0, "{live:?}");
        }
        let refusals: u64 = self
            .doors
            .iter()
            .map(|door| {
                let refusals = self.turns.refusals(*door);
                refusals.of_overload() + refusals.disposed
            })
            .sum();
        let started: u64 = self.doors.iter().map(|door| self.turns.started(*door)).sum();
        assert_eq!((refusals, started), (self.refused, self.started));
    }

    /// The rest of a turn: the check phase, and the timers and the sleep of the next; at most `most_ms` of sleep.
    /// Handlers that start compute for `compute_ms`, and end at once if `ends`.
    pub fn turn(&mut self, most_ms: f64, compute_ms: f64, ends: bool) {
        if std::mem::take(&mut self.is_due) {
            let connections = std::mem::take(&mut self.connections);
            self.turns.connected(connections);
            match self.turns.turn(self.told(), self.at()) {
                Turn::Off => {
                    self.settle();
                    assert_eq!(self.waiting(), 0, "it gives up though somebody waits");
                    self.wake_at = f64::INFINITY;
                }
                Turn::Again => self.is_due = true,
                Turn::Sleep(ms) => {
                    assert!((1.0..=MAX_MS + 1.0).contains(&ms), "{ms}");
                    self.wake_at = self.now + ms;
                }
                Turn::Work => self.work(compute_ms, ends),
            }
        }
        self.settle();
        self.now += 0.01;
        if !self.is_due {
            let slept = most_ms.min((self.wake_at - self.now).max(0.0));
            self.idle += slept;
            self.now += slept;
        }
        if self.wake_at <= self.now {
            self.wake_at = f64::INFINITY;
            self.is_due = true;
        }
    }

    fn work(&mut self, compute_ms: f64, ends: bool) {
        self.is_due = true;
        self.settle();
        loop {
            let next = self.turns.next(self.at());
            // Those are refused that would have had their turn too late.
            self.take_refused();
            let Some(key) = next else { return };
            self.start(key);
            self.now += compute_ms;
            let nth = self.open.values().position(|request| request.key == key);
            if let Some(nth) = nth.filter(|_| ends) {
                self.end(nth);
            }
            self.settle();
        }
    }

    pub const fn now(&self) -> f64 {
        self.now
    }
}
