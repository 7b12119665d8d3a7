//! What is asked and told of single gates, outside of their executions.

use napi::bindgen_prelude::{FunctionCallContext, Object};
use napi::{Env, Result};

use super::{Answer, add, index, key, number};
use crate::binding::thread::{Handle, State};
use crate::core::gate::circuit_breaker::{Circuit, CircuitBreaker};

/// Adds the closures.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "napi hands an environment out by reference")]
pub fn add_all(env: &Env, hot: &mut Object, handle: &Handle) -> Result<()> {
    add(env, hot, handle, "closedEpoch", closed_epoch)?;
    add(env, hot, handle, "circuit", circuit)?;
    add(env, hot, handle, "breakRemaining", break_remaining)?;
    add(env, hot, handle, "setBreak", set_break)?;
    add(env, hot, handle, "isolate", isolate)?;
    add(env, hot, handle, "close", close)?;
    add(env, hot, handle, "restore", restore)?;
    add(env, hot, handle, "available", available)?;
    add(env, hot, handle, "reset", reset)?;
    add(env, hot, handle, "keys", keys)?;
    add(env, hot, handle, "evictions", evictions)
}

/// A state as JavaScript knows it: an index into its list of states.
const CIRCUITS: [Circuit; 4] = [Circuit::Closed, Circuit::Open, Circuit::HalfOpen, Circuit::Isolated];

fn breaker<'a>(
    state: &'a mut State,
    context: &FunctionCallContext,
) -> std::result::Result<&'a mut CircuitBreaker, super::Fault> {
    Ok(state.engine.circuit_breaker(key(context, 0)?, index(context, 1)?)?)
}

/// `closedEpoch(segment)`: the epoch of a closed circuit that is alone in its segment and watches for no slow calls;
/// -1 for any other.
#[expect(clippy::cast_precision_loss, reason = "an epoch a microsecond fits 53 bits for 285 years")]
fn closed_epoch(state: &mut State, context: &FunctionCallContext) -> Answer {
    Ok(state.engine.closed_epoch(key(context, 0)?)?.map_or(-1.0, |epoch| epoch as f64))
}

/// `circuit(segment, gate)`: the state, see [`CIRCUITS`].
fn circuit(state: &mut State, context: &FunctionCallContext) -> Answer {
    let now = state.engine.now();
    let circuit = breaker(state, context)?.circuit(now);
    let position = CIRCUITS.iter().position(|each| *each == circuit).and_then(|at| u8::try_from(at).ok());
    Ok(f64::from(position.unwrap_or_default()))
}

/// `breakRemaining(segment, gate)`: milliseconds.
fn break_remaining(state: &mut State, context: &FunctionCallContext) -> Answer {
    let now = state.engine.now();
    Ok(breaker(state, context)?.break_remaining_ms(now))
}

/// `setBreak(segment, gate, epoch, breakMs)`: changes the length of the break that began with `epoch`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is wanted")]
fn set_break(state: &mut State, context: &FunctionCallContext) -> Answer {
    let (epoch, break_ms) = (number(context, 2)? as u64, number(context, 3)?);
    breaker(state, context)?.set_break(epoch, break_ms);
    Ok(0.0)
}

/// `isolate(segment, gate)`: 1 if that changed anything, else 0.
fn isolate(state: &mut State, context: &FunctionCallContext) -> Answer {
    Ok(f64::from(u8::from(breaker(state, context)?.isolate())))
}

/// `close(segment, gate)`: 1 if that changed anything, else 0.
fn close(state: &mut State, context: &FunctionCallContext) -> Answer {
    Ok(f64::from(u8::from(breaker(state, context)?.close())))
}

/// `restore(segment, gate, circuit, breakMs)`: takes over a state from elsewhere.
fn restore(state: &mut State, context: &FunctionCallContext) -> Answer {
    let now = state.engine.now();
    let (circuit, break_ms) = (index(context, 2)?, number(context, 3)?);
    let circuit = CIRCUITS.get(circuit).copied().unwrap_or(Circuit::Closed);
    breaker(state, context)?.restore(circuit, break_ms, now);
    Ok(0.0)
}

/// `available(segment, gate, key)`: the permits that a rate limiter has left for a key.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer below 2^53, by contract")]
fn available(state: &mut State, context: &FunctionCallContext) -> Answer {
    let now = state.engine.now();
    let rate_key = number(context, 2)? as u64;
    let limiter = state.engine.rate_limiter(key(context, 0)?, index(context, 1)?)?;
    Ok(f64::from(limiter.available(rate_key, now)))
}

/// `reset(segment, gate, key)`: milliseconds until a rate limiter has all permits for a key again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer below 2^53, by contract")]
fn reset(state: &mut State, context: &FunctionCallContext) -> Answer {
    let now = state.engine.now();
    let rate_key = number(context, 2)? as u64;
    let limiter = state.engine.rate_limiter(key(context, 0)?, index(context, 1)?)?;
    Ok(limiter.reset_at(rate_key, now).ms_since(now))
}

/// `keys(segment, gate)`: how many keys a rate limiter keeps.
#[expect(clippy::cast_precision_loss, reason = "a count fits 53 bits")]
fn keys(state: &mut State, context: &FunctionCallContext) -> Answer {
    let limiter = state.engine.rate_limiter(key(context, 0)?, index(context, 1)?)?;
    Ok(limiter.keys() as f64)
}

/// `evictions(segment, gate)`: how many keys it has forgotten that mattered.
#[expect(clippy::cast_precision_loss, reason = "a count fits 53 bits")]
fn evictions(state: &mut State, context: &FunctionCallContext) -> Answer {
    let limiter = state.engine.rate_limiter(key(context, 0)?, index(context, 1)?)?;
    Ok(limiter.evictions() as f64)
}
