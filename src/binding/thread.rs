//! The engine of one JavaScript thread, with its clock and its channel.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{Float64Array, Object};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use super::channel::{Channel, LENGTH};
use super::event_loop::{NativeLoop, NativeOverload};
use super::fault::{Moment, reach};
use super::guard::guard;
use super::hot;
use super::provider::AdaptiveLimitProvider;
use crate::core::clock::{MonotonicClock, Nanos};
use crate::core::engine::Engine;
use crate::core::slab::Key;
use crate::core::timers::Driver;
use crate::core::turns::gate::Turns;

/// What a call answers when it failed; the message is left in [`State::fault`].
const FAULT: f64 = f64::NAN;

/// What the closures of a thread share.
pub struct State {
    /// The engine.
    pub engine: Engine,
    /// The shared array.
    pub channel: Channel,
    /// The machine's clock.
    pub clock: MonotonicClock,
    /// Up to when the next tick fires deadlines.
    pub due: Nanos,
    /// The gate of the event loop, which a fake clock does not concern: the loop goes on.
    pub turns: Turns,
}

/// A handle to the state of one thread, and the message of its last failure.
#[derive(Clone)]
pub struct Handle {
    state: Rc<RefCell<State>>,
    fault: Rc<RefCell<String>>,
}

impl Handle {
    /// Runs `work` on the state at the present time, then publishes what it brought about and leaves the answer. A
    /// failure or a panic in it is an answer of NaN. After a panic, an execution that the call let in is let out
    /// again, because its ticket reaches nobody; and what happened until then is published all the same.
    pub fn call<E: ToString>(&self, work: impl FnOnce(&mut State) -> std::result::Result<f64, E>) -> f64 {
        let answer = guard(|| {
            let mut state = self.state.try_borrow_mut().map_err(|error| error.to_string())?;
            let real = state.clock.now();
            match state.channel.clock_override() {
                None => state.engine.at(real, Driver::Wheel),
                Some(fake) => state.engine.at(fake, Driver::Outside),
            }
            let answer = work(&mut state).map_err(|error| error.to_string());
            let State { engine, channel, .. } = &mut *state;
            channel.publish(real, engine);
            channel.answer(*answer.as_ref().unwrap_or(&FAULT));
            answer
        });
        match answer.and_then(|answer| answer) {
            Ok(answer) => answer,
            Err(message) => {
                self.recover();
                self.set_fault(message);
                FAULT
            }
        }
    }

    /// As [`Handle::call`], for the gate of the event loop: nothing but its own state is published.
    pub fn call_loop<E: ToString>(
        &self,
        work: impl FnOnce(&mut State, Nanos) -> std::result::Result<f64, E>,
    ) -> f64 {
        let answer = guard(|| {
            let mut state = self.state.try_borrow_mut().map_err(|error| error.to_string())?;
            let now = state.clock.now();
            state.turns.heard();
            let answer = work(&mut state, now).map_err(|error| error.to_string());
            let State { turns, channel, .. } = &mut *state;
            channel.tell_of_loop(turns);
            channel.answer(*answer.as_ref().unwrap_or(&FAULT));
            answer
        });
        match answer.and_then(|answer| answer) {
            Ok(answer) => answer,
            Err(message) => {
                self.recover_loop();
                self.set_fault(message);
                FAULT
            }
        }
    }

    #[cold]
    fn recover_loop(&self) {
        // Its own failure leaves nothing more to try.
        let _ = guard(|| {
            let mut state = self.state.borrow_mut();
            let State { turns, channel, .. } = &mut *state;
            turns.undo();
            channel.tell_of_loop(turns);
        });
    }

    #[cold]
    fn recover(&self) {
        // Its own failure leaves nothing more to try.
        let _ = guard(|| {
            let mut state = self.state.borrow_mut();
            state.engine.undo_entry();
            let now = state.clock.now();
            let State { engine, channel, .. } = &mut *state;
            channel.publish(now, engine);
        });
    }

    /// Reads the state; `None` when that fails.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> Option<T> {
        let answer =
            guard(|| self.state.try_borrow().map(|state| read(&state)).map_err(|error| error.to_string()));
        answer.and_then(|answer| answer).map_err(|message| self.set_fault(message)).ok()
    }

    /// Changes the state; `None` when that fails.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let answer = guard(|| {
            self.state.try_borrow_mut().map(|mut state| change(&mut state)).map_err(|error| error.to_string())
        });
        answer.and_then(|answer| answer).map_err(|message| self.set_fault(message)).ok()
    }

    /// The message of the last failure.
    pub fn fault(&self) -> String {
        self.fault.borrow().clone()
    }

    /// The last failure, for classes.
    fn failure(&self) -> Error {
        Error::new(Status::GenericFailure, self.fault())
    }

    /// Leaves the message of a failure, and its answer.
    pub fn set_fault(&self, message: String) {
        self.fault.replace(message);
        // No call lasts into another one.
        if let Ok(mut state) = self.state.try_borrow_mut() {
            state.channel.answer(FAULT);
        }
    }
}

/// The native side of one JavaScript thread.
#[napi]
pub struct Thread {
    pub(super) handle: Handle,
}

#[napi]
impl Thread {
    /// A thread that talks through `channel`, an array made for this alone.
    #[napi(constructor, catch_unwind)]
    pub fn new(channel: Float64Array) -> Result<Self> {
        reach("Thread", Moment::Before);
        let channel = Channel::new(channel).ok_or_else(|| {
            Error::new(Status::InvalidArg, format!("the channel must hold exactly {LENGTH} numbers"))
        })?;
        let clock = MonotonicClock::start();
        let mut engine = Engine::default();
        engine.watch_pauses();
        let state = State { engine, channel, clock, due: Nanos::default(), turns: Turns::default() };
        let handle = Handle { state: Rc::new(RefCell::new(state)), fault: Rc::default() };
        Ok(Self { handle })
    }

    /// The functions of the hot half, typed in `lib/native.js`.
    #[napi(catch_unwind, ts_return_type = "object")]
    pub fn hot<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        reach("Thread.hot", Moment::Before);
        hot::closures(env, &self.handle)
    }

    /// Lets `provider` read the limiter at `gate` of `segment`; false if it reads a limiter already.
    #[napi(catch_unwind)]
    pub fn attach(&self, provider: &mut AdaptiveLimitProvider, segment: f64, gate: u32) -> bool {
        reach("Thread.attach", Moment::Before);
        provider.attach(&self.handle, Key::from_f64(segment), gate as usize)
    }

    /// What the gate of the event loop knows, with the counters of a door.
    ///
    /// # Errors
    ///
    /// After a panic in it.
    #[napi(catch_unwind)]
    pub fn event_loop(&self, door: f64) -> Result<NativeLoop> {
        let read = self.handle.read(|state| {
            reach("Thread.eventLoop", Moment::Before);
            NativeLoop::of(&state.turns, Key::from_f64(door), state.clock.now())
        });
        read.ok_or_else(|| self.handle.failure())
    }

    /// What is to be told of a door's overload, each news once; nothing without an overload. `idle_ms` is how long the
    /// loop has slept in all, negative if the runtime does not tell.
    ///
    /// # Errors
    ///
    /// After a panic in it.
    #[napi(catch_unwind)]
    pub fn overload(&self, door: f64, idle_ms: f64) -> Result<Option<NativeOverload>> {
        let told = self.handle.change(|state| {
            reach("Thread.overload", Moment::Before);
            NativeOverload::take(state, Key::from_f64(door), idle_ms)
        });
        told.ok_or_else(|| self.handle.failure())
    }

    /// Requests that the gate of the event loop has let in or queued, and that have not ended.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.handle.read(|state| u32::try_from(state.turns.open()).unwrap_or(u32::MAX)).unwrap_or(0)
    }

    /// Executions that have entered a segment and not left it.
    #[napi(getter, catch_unwind)]
    pub fn open(&self) -> u32 {
        self.handle.read(|state| u32::try_from(state.engine.open()).unwrap_or(u32::MAX)).unwrap_or(0)
    }

    /// Segments of pipelines that have not been collected.
    #[napi(getter, catch_unwind)]
    pub fn segments(&self) -> u32 {
        self.handle.read(|state| u32::try_from(state.engine.segments()).unwrap_or(u32::MAX)).unwrap_or(0)
    }
}
