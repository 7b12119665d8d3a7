//! The closures of the event loop's gate: see [`turns`](crate::core::turns) for the order of their calls. All take
//! their arguments from the channel but those of doors; all leave there what the gate holds.

use napi::bindgen_prelude::{FunctionCallContext, Object};
use napi::{Env, Result};

use super::{Answer, key, number, run};
use crate::binding::event_loop::cpu_sample;
use crate::binding::thread::{Handle, State};
use crate::core::clock::Nanos;
use crate::core::error::Error;
use crate::core::slab::Key;
use crate::core::turns::answers::{Ended, Offer, Offered, Turn, level};

/// What `loopOffer` answers for a refusal: no key is as small.
const REFUSED: f64 = 0.0;
/// What `loopTurn` answers; more than 0 are milliseconds.
const OFF: f64 = 0.0;
const AGAIN: f64 = -1.0;
const WORK: f64 = -2.0;
/// What those answer that give a key, when they have none.
const NOBODY: f64 = 0.0;

/// Adds the closures.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
pub fn add_all(env: &Env, hot: &mut Object, handle: &Handle) -> Result<()> {
    add(env, hot, handle, "loopOffer", offer)?;
    add(env, hot, handle, "loopTurn", turn)?;
    add(env, hot, handle, "loopNext", next)?;
    add_end(env, hot, handle)?;
    add(env, hot, handle, "loopAcknowledge", acknowledge)?;
    add(env, hot, handle, "loopRefused", refused)?;
    add_cold(env, hot, handle, "addDoor", add_door)?;
    add_cold(env, hot, handle, "closeDoor", close_door)?;
    add_cold(env, hot, handle, "removeDoor", remove_door)
}

type Work = fn(&mut State, Nanos) -> Answer;
type ColdWork = fn(&mut State, &FunctionCallContext, Nanos) -> Answer;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add(env: &Env, hot: &mut Object, handle: &Handle, name: &'static str, work: Work) -> Result<()> {
    let handle = handle.clone();
    let closure = env.create_function_from_closure::<(), (), _>(name, move |_| {
        handle.call_loop(|state, now| run(name, state, |state| work(state, now)));
        Ok(())
    })?;
    hot.set(name, closure)
}

/// After a panic an end is tried again, or the request would be in flight for ever.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add_end(env: &Env, hot: &mut Object, handle: &Handle) -> Result<()> {
    let (name, handle) = ("loopEnd", handle.clone());
    let closure = env.create_function_from_closure::<(), (), _>(name, move |_| {
        if handle.call_loop(|state, now| run(name, state, |state| end(state, now))).is_nan() {
            let fault = handle.fault();
            handle.call_loop(end);
            handle.set_fault(fault);
        }
        Ok(())
    })?;
    hot.set(name, closure)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add_cold(env: &Env, hot: &mut Object, handle: &Handle, name: &'static str, work: ColdWork) -> Result<()> {
    let handle = handle.clone();
    let closure = env.create_function_from_closure::<(), f64, _>(name, move |context| {
        Ok(handle.call_loop(|state, now| run(name, state, |state| work(state, &context, now))))
    })?;
    hot.set(name, closure)
}

/// The loop's idle time as JavaScript gives it: negative if the runtime does not tell.
fn told(idle_ms: f64) -> Option<f64> {
    (idle_ms >= 0.0).then_some(idle_ms)
}

/// `loopOffer(door, level, patience, idle)`: a key to start, minus a key to wait, or 0 for a refusal. `idle` is NaN if a
/// check phase is wanted already.
fn offer(state: &mut State, now: Nanos) -> Answer {
    let [door, importance, patience_ms, idle_ms] = state.channel.all_arguments();
    let offer = Offer { door: Key::from_f64(door), level: level(importance), patience_ms };
    let unwatched = (!idle_ms.is_nan()).then(|| told(idle_ms));
    Ok(match state.turns.offer(offer, unwatched, now).ok_or(Error::UnknownDoor)? {
        Offered::Start(key) => key.to_f64(),
        Offered::Wait(key) => -key.to_f64(),
        Offered::Refuse(delay_ms) => {
            state.channel.loop_delay(delay_ms);
            REFUSED
        }
    })
}

/// `loopTurn(idle, connections)`: [`OFF`], [`AGAIN`], [`WORK`], or in how many milliseconds to call it again.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn turn(state: &mut State, now: Nanos) -> Answer {
    let (idle_ms, connections) = state.channel.arguments();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
    state.turns.connected(connections as u32);
    let idle_ms = told(idle_ms);
    if state.turns.wants_processor_time(now)
        && let Some(sample) = idle_ms.and_then(|idle_ms| cpu_sample(now, idle_ms))
    {
        state.turns.keep_processor_time(sample);
    }
    Ok(match state.turns.turn(idle_ms, now) {
        Turn::Off => OFF,
        Turn::Again => AGAIN,
        Turn::Sleep(ms) => ms,
        Turn::Work => WORK,
    })
}

/// `loopNext()`: the key of the next request to start, or 0 when the slice is over.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn next(state: &mut State, now: Nanos) -> Answer {
    Ok(state.turns.next(now).map_or(NOBODY, Key::to_f64))
}

/// `loopEnd(key)`: 0, 1 if a check phase is wanted, 2 if `loopAcknowledge` is wanted as well.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn end(state: &mut State, now: Nanos) -> Answer {
    Ok(match state.turns.end(Key::from_f64(state.channel.take_first()), now) {
        Ended::Nothing => 0.0,
        Ended::Check => 1.0,
        Ended::Start => 2.0,
    })
}

/// `loopAcknowledge()`: the key of a request to start in the place of one that has ended, or 0.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn acknowledge(state: &mut State, now: Nanos) -> Answer {
    Ok(state.turns.acknowledge(now).map_or(NOBODY, Key::to_f64))
}

/// `loopRefused()`: the key of the next request that was turned away after it had waited, or 0.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn refused(state: &mut State, _: Nanos) -> Answer {
    Ok(state.turns.take_refused().map_or(NOBODY, |(key, reason)| {
        state.channel.loop_reason(reason);
        key.to_f64()
    }))
}

/// `addDoor(targetMs, maxMs)`: the key of a door.
fn add_door(state: &mut State, context: &FunctionCallContext, _: Nanos) -> Answer {
    Ok(state.turns.add_door(number(context, 0)?, number(context, 1)?).to_f64())
}

/// `closeDoor(door)`: turns all away that wait there.
fn close_door(state: &mut State, context: &FunctionCallContext, now: Nanos) -> Answer {
    state.turns.close(key(context, 0)?, now);
    Ok(0.0)
}

/// `removeDoor(door)`: the same, and forgets it.
fn remove_door(state: &mut State, context: &FunctionCallContext, now: Nanos) -> Answer {
    state.turns.remove_door(key(context, 0)?, now);
    Ok(0.0)
}
