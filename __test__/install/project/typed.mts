import assert from 'node:assert/strict';
import { ResiliencePipelineBuilder, TimeoutRejectedError } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import express from 'express';

const pipeline = new ResiliencePipelineBuilder().addTimeout(10).build();
const answer: number = await pipeline.execute(async ({ signal }) => (signal.aborted ? 0 : 42));
assert.equal(answer, 42);

const outcome = await pipeline.settle(() => new Promise<never>(() => {}));
assert.ok(!outcome.ok && outcome.error instanceof TimeoutRejectedError);

// @ts-expect-error a duration is a number or a string
assert.throws(() => new ResiliencePipelineBuilder().addTimeout(true), TypeError);

const resilience = resilienceMiddleware({ timeout: '5s' });
express().use(resilience);
resilience.dispose();
