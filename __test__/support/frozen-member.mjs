// A process that calls many times at once, with a deadline, and prints what came of it.

import { once } from 'node:events';
import { connect } from 'node:net';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

const [port, many] = process.argv.slice(2).map(Number);
const sockets = Array.from({ length: many }, () => connect(port).setNoDelay());
await Promise.all(sockets.map((socket) => once(socket, 'connect')));

const pipeline = new ResiliencePipelineBuilder()
  .addRetry({ delay: 1 })
  .addCircuitBreaker({ consecutiveFailures: 1, slowCallDuration: 500, slowCallRatio: 0.1, minimumThroughput: 5 })
  .addAdaptiveConcurrencyLimiter()
  .addHedging({ delay: 400 })
  .addTimeout(500)
  .build();
const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
const { limit } = limiter;
let calls = 0;
const outcomes = await Promise.all(
  sockets.map((socket) =>
    pipeline.settle(async () => {
      calls += 1;
      socket.write('x');
      await once(socket, 'data');
    }),
  ),
);
const answers = outcomes.filter(({ ok }) => ok).length;
const { state } = pipeline.getStrategy('CircuitBreaker');
console.log(JSON.stringify({ answers, calls, state, fell: limiter.limit < limit }));
for (const socket of sockets) socket.destroy();
