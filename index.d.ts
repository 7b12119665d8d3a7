/// <reference types="node" />

// The public contract, a part a subject. Node's own types are referenced above because they declare
// AbortSignal and Symbol.dispose whatever `lib` the user compiles with.

export * from './types/duration.js';
export * from './types/context.js';
export * from './types/outcome.js';
export * from './types/errors.js';

export * from './types/strategy.js';
export * from './types/strategies/retry.js';
export * from './types/strategies/retry-budget.js';
export * from './types/strategies/timeout.js';
export * from './types/strategies/circuit-breaker.js';
export * from './types/strategies/concurrency-limiter.js';
export * from './types/strategies/adaptive-concurrency-limiter.js';
export * from './types/strategies/rate-limiter.js';
export * from './types/strategies/fallback.js';
export * from './types/strategies/hedging.js';
export * from './types/limit-algorithms.js';

export * from './types/pipeline.js';
export * from './types/pipeline-builder.js';
export * from './types/builder.js';
export * from './types/standard-pipeline.js';
export * from './types/overload.js';
export * from './types/telemetry.js';
