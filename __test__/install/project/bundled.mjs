import assert from 'node:assert/strict';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { resilientFetch } from '@ylcnfrht/resilience/http';

assert.equal(typeof resilientFetch, 'function');
const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout('5s').build();
pipeline.execute(async () => 'done').then((value) => assert.equal(value, 'done'));
