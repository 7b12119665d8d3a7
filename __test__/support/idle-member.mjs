// Leaves idle pipelines behind whose strategies have a time to come: none of it may keep the thread alive.
import { setTimeout as sleep } from 'node:timers/promises';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

const builder = () => new ResiliencePipelineBuilder();
const fails = () => Promise.reject(new Error('boom'));

const open = builder().addCircuitBreaker({ consecutiveFailures: 1, breakDuration: '1h' }).build();
await open.settle(fails);
const rates = ['fixed-window', 'sliding-window', 'token-bucket'].map((algorithm) =>
  builder().addRateLimiter({ permitLimit: 1, window: '1h', algorithm, queueLimit: 5 }).build(),
);
for (const pipeline of rates) await pipeline.execute(() => 1);
let calls = 0;
await builder()
  .addRetry({ delay: 1 })
  .addTimeout('1h')
  .build()
  .execute(() => (calls++ === 0 ? fails() : 1));
await builder()
  .addHedging({ delay: '1h' })
  .build()
  .execute(async () => 1);
const halfOpen = builder().addCircuitBreaker({ consecutiveFailures: 1, breakDuration: 1 }).build();
await halfOpen.settle(fails);
// Until the clock has moved on: nothing tells of the end of a break.
while (halfOpen.getStrategy('CircuitBreaker').state === 'open') await sleep(1);
console.log(open.getStrategy('CircuitBreaker').state, halfOpen.getStrategy('CircuitBreaker').state);
console.log(rates.map((pipeline) => pipeline.getStrategy('RateLimiter').available).join());
