//! The closures that executions call. Only doubles cross; an answer of NaN is a failure, told by `fault`.
//!
//! `enter`, `exit`, `giveBack` and `leave`, which executions call most, take their arguments from the channel and leave their answer
//! there: reading arguments and making a number is half of what a call costs.

use napi::bindgen_prelude::{FunctionCallContext, Object};
use napi::{Env, Result};
use thiserror::Error as ThisError;

mod event_loop;
mod gates;

use super::algorithm::kind;
use super::channel::refusal_code;
use super::fault::{Moment, reach};
use super::thread::{Handle, State};
use crate::core::algorithm::Sample;
use crate::core::error::Error;
use crate::core::outcome::Outcomes;
use crate::core::segment::Entry;
use crate::core::slab::Key;

/// Makes the closures of one thread.
pub fn closures<'env>(env: &'env Env, handle: &Handle) -> Result<Object<'env>> {
    let mut hot = Object::new(env)?;
    add_lean(env, &mut hot, handle, "enter", |handle| handle.call(|state| run("enter", state, enter)))?;
    add_lean(env, &mut hot, handle, "exit", |handle| finally(handle, "exit", exit))?;
    add_lean(env, &mut hot, handle, "giveBack", |handle| finally(handle, "giveBack", give_back))?;
    add_lean(env, &mut hot, handle, "leave", |handle| finally(handle, "leave", leave))?;
    add(env, &mut hot, handle, "mark", mark)?;
    add(env, &mut hot, handle, "due", due)?;
    add(env, &mut hot, handle, "tick", tick)?;
    add(env, &mut hot, handle, "applyLimit", apply_limit)?;
    add(env, &mut hot, handle, "drain", |_, _| Ok(0.0))?;
    add(env, &mut hot, handle, "sleep", sleep)?;
    add(env, &mut hot, handle, "remaining", remaining)?;
    gates::add_all(env, &mut hot, handle)?;
    event_loop::add_all(env, &mut hot, handle)?;
    add_final(env, &mut hot, handle, "expire", expire)?;
    add_final(env, &mut hot, handle, "wake", wake)?;
    add_final(env, &mut hot, handle, "dispose", dispose)?;
    add_final(env, &mut hot, handle, "remove", remove)?;
    let teller = handle.clone();
    hot.set("fault", env.create_function_from_closure::<(), _, _>("fault", move |_| Ok(teller.fault()))?)?;
    for (name, read) in [("limit", limit as Read), ("inflight", inflight), ("queued", queued)] {
        let reader = handle.clone();
        let closure = env.create_function_from_closure::<(f64, f64), _, _>(name, move |context| {
            let (segment, gate) = (key(&context, 0)?, index(&context, 1)?);
            let look = |state: &State| {
                reach(name, Moment::Before);
                read(state, segment, gate)
            };
            Ok(reader.read(look).unwrap_or(f64::NAN))
        })?;
        hot.set(name, closure)?;
    }
    Ok(hot)
}

type Read = fn(&State, Key, usize) -> f64;
type Answer = std::result::Result<f64, Fault>;
type Work = fn(&mut State, &FunctionCallContext) -> Answer;

/// Why a closure failed.
#[derive(Debug, ThisError)]
enum Fault {
    #[error(transparent)]
    Core(#[from] Error),
    #[error(transparent)]
    Argument(#[from] napi::Error),
}

/// Adds a closure that takes its arguments from the channel and leaves its answer there.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add_lean(
    env: &Env,
    hot: &mut Object,
    handle: &Handle,
    name: &'static str,
    work: fn(&Handle) -> f64,
) -> Result<()> {
    let handle = handle.clone();
    let closure = env.create_function_from_closure::<(), (), _>(name, move |_| {
        work(&handle);
        Ok(())
    })?;
    hot.set(name, closure)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add(env: &Env, hot: &mut Object, handle: &Handle, name: &'static str, work: Work) -> Result<()> {
    let handle = handle.clone();
    let closure = env.create_function_from_closure::<(), f64, _>(name, move |context| {
        Ok(handle.call(|state| run(name, state, |state| work(state, &context))))
    })?;
    hot.set(name, closure)
}

/// Adds a closure that JavaScript calls once for each thing it ends.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
fn add_final(env: &Env, hot: &mut Object, handle: &Handle, name: &'static str, work: Work) -> Result<()> {
    let handle = handle.clone();
    let closure = env.create_function_from_closure::<(), f64, _>(name, move |context| {
        Ok(finally(&handle, name, |state| work(state, &context)))
    })?;
    hot.set(name, closure)
}

/// Ends something. After a panic it is tried again, or what it was to end would last: a second end does nothing,
/// or fails on a stale key.
fn finally(handle: &Handle, name: &str, work: impl Fn(&mut State) -> Answer) -> f64 {
    let answer = handle.call(|state| run(name, state, &work));
    if answer.is_nan() {
        let fault = handle.fault();
        handle.call(|state| work(state));
        handle.set_fault(fault);
    }
    answer
}

fn run(name: &str, state: &mut State, work: impl FnOnce(&mut State) -> Answer) -> Answer {
    reach(name, Moment::Before);
    let answer = work(state);
    reach(name, Moment::After);
    answer
}

fn number(context: &FunctionCallContext, position: usize) -> Result<f64> {
    context.get::<f64>(position)
}

fn key(context: &FunctionCallContext, position: usize) -> Result<Key> {
    number(context, position).map(Key::from_f64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
fn index(context: &FunctionCallContext, position: usize) -> Result<usize> {
    number(context, position).map(|number| number as usize)
}

/// The most permits that are lent at once: their number must not look like a ticket.
const MOST_LENT: u32 = (1 << 26) - 1;

/// `enter(segment, parameter)`: a ticket to run, minus a ticket to wait, minus the code of a refusal (a small
/// integer), or the number of permits lent, one of which is for this execution. A parameter of NaN is none.
fn enter(state: &mut State) -> Answer {
    let (segment, parameter) = state.channel.arguments();
    let segment = Key::from_f64(segment);
    let lent = state.engine.lend(segment, MOST_LENT);
    if lent > 0 {
        return Ok(f64::from(lent));
    }
    Ok(match state.engine.enter(segment, (!parameter.is_nan()).then_some(parameter))? {
        Entry::Running(ticket) => ticket.to_f64(),
        Entry::Waiting(ticket) => -ticket.to_f64(),
        Entry::Refused(refusal) => {
            state.channel.refuse(refusal);
            -refusal_code(refusal)
        }
    })
}

/// `exit(ticket, outcomes)`: two bits a gate, see [`Outcomes`]; 1 if it moved a circuit, else 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
fn exit(state: &mut State) -> Answer {
    let (ticket, outcomes) = state.channel.arguments();
    let moved = state.engine.exit(Key::from_f64(ticket), Outcomes(outcomes as u32))?;
    Ok(f64::from(u8::from(moved)))
}

/// `giveBack(segment)`: takes a lent permit back; 1 if somebody still waits, else 0.
fn give_back(state: &mut State) -> Answer {
    let waits = state.engine.give_back(Key::from_f64(state.channel.take_first()))?;
    Ok(f64::from(u8::from(waits)))
}

/// `leave(segment, epoch, outcome, name)`: an execution that passed a closed circuit without a ticket has ended; 1 if
/// that moved the circuit, else 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
fn leave(state: &mut State) -> Answer {
    let segment = Key::from_f64(state.channel.take_first());
    let (epoch, outcome, name) = state.channel.more_arguments();
    let outcome = Outcomes(outcome as u32).of(0);
    let moved = state.engine.leave(segment, epoch as u64, outcome, Key::from_f64(name))?;
    Ok(f64::from(u8::from(moved)))
}

/// `remaining(ticket)`: milliseconds until the execution's first deadline, infinite for none.
fn remaining(state: &mut State, context: &FunctionCallContext) -> Answer {
    Ok(state.engine.remaining_ms(key(context, 0)?)?.unwrap_or(f64::INFINITY))
}

/// `sleep(delayMs)`: the key of a sleep.
fn sleep(state: &mut State, context: &FunctionCallContext) -> Answer {
    Ok(state.engine.sleep(number(context, 0)?).to_f64())
}

/// `wake(sleep)`: ends a sleep before its time.
fn wake(state: &mut State, context: &FunctionCallContext) -> Answer {
    state.engine.wake(key(context, 0)?);
    Ok(0.0)
}

/// `mark(ticket)`: the first byte of the answer has left.
fn mark(state: &mut State, context: &FunctionCallContext) -> Answer {
    state.engine.mark(key(context, 0)?)?;
    Ok(0.0)
}

/// `due()`: 1 if the wheel has work at present, else 0. The next `tick` is about what is due by now.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn due(state: &mut State, _: &FunctionCallContext) -> Answer {
    state.due = state.engine.now();
    Ok(f64::from(u8::from(state.engine.next_tick().is_some_and(|tick| tick <= state.due.floor_ms()))))
}

/// `tick()`: fires what was due in the wheel at the last `due`.
#[expect(clippy::unnecessary_wraps, reason = "all closures have one type")]
fn tick(state: &mut State, _: &FunctionCallContext) -> Answer {
    state.engine.tick_until(state.due);
    Ok(0.0)
}

/// `expire(timer)`: an outside timer has fired.
fn expire(state: &mut State, context: &FunctionCallContext) -> Answer {
    state.engine.expire(key(context, 0)?);
    Ok(0.0)
}

/// `applyLimit(segment, gate, next, cuts, rtt, inflight, dropped, limit, now, startedAt, operation)`: an outside
/// algorithm's answer to a sample; gives the exact limit that comes of it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
fn apply_limit(state: &mut State, context: &FunctionCallContext) -> Answer {
    let sample = Sample {
        rtt_ms: number(context, 4)?,
        inflight: number(context, 5)? as u32,
        dropped: number(context, 6)? != 0.0,
        limit: number(context, 7)?,
        now_ms: number(context, 8)?,
        started_ms: number(context, 9)?,
        operation: kind(number(context, 10)?),
    };
    let (segment, gate, next) = (key(context, 0)?, index(context, 1)?, number(context, 2)?);
    Ok(state.engine.apply_limit(segment, gate, next, sample, number(context, 3)? as u32)?)
}

/// `dispose(segment)`: turns the waiters away and disarms the deadlines.
fn dispose(state: &mut State, context: &FunctionCallContext) -> Answer {
    state.engine.dispose(key(context, 0)?)?;
    Ok(0.0)
}

/// `remove(segment)`: no execution will use it again.
fn remove(state: &mut State, context: &FunctionCallContext) -> Answer {
    state.engine.remove_segment(key(context, 0)?);
    Ok(0.0)
}

fn limit(state: &State, segment: Key, gate: usize) -> f64 {
    state.engine.permits(segment, gate).map_or(0.0, |permits| f64::from(permits.limit()))
}

fn inflight(state: &State, segment: Key, gate: usize) -> f64 {
    state.engine.permits(segment, gate).map_or(0.0, |permits| f64::from(permits.in_flight()))
}

#[expect(clippy::cast_precision_loss, reason = "a queue's length fits 53 bits")]
fn queued(state: &State, segment: Key, gate: usize) -> f64 {
    state.engine.queued(segment, gate) as f64
}
