// The server under load, a process of its own: `node server.mjs none|fixed|gradient2|knee|overload FRAMEWORK SHORT`,
// where SHORT is what its handlers are short of: `dependency`, or `cpu`. It reports to its parent over IPC.
import { AdaptiveLimitProvider, getResilienceSignal, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { compute } from './computation.mjs';
import { Dependency } from './dependency.mjs';
import { frameworks } from './frameworks.mjs';
import * as settings from './settings.mjs';

const dependency = new Dependency(settings.dependency);
const defects = [];

/** The adapter's options in each mode, and where its limit, its permits in use and its queue are read. */
const protections = {
  none: () => ({ options: undefined }),
  fixed: () => {
    const limiterOf = ({ pipeline }) => pipeline.getStrategy('ConcurrencyLimiter');
    return { options: settings.fixed, limiterOf, limitOf: (limiter) => limiter.permitLimit };
  },
  gradient2: () => adaptive('gradient2'),
  knee: () => adaptive('knee'),
  overload: () => ({ options: settings.overload }),
};

function adaptive(algorithm) {
  const limiter = new AdaptiveLimitProvider();
  const pipeline = new ResiliencePipelineBuilder({ name: 'inbound' })
    .addAdaptiveConcurrencyLimiter({
      ...settings.adaptive.limiter,
      ...settings.waiters[algorithm],
      algorithm,
      limitProvider: limiter,
    })
    .addTimeout(settings.adaptive.timeout)
    .build();
  return { options: { pipeline }, limiterOf: () => limiter, limitOf: () => limiter.limit };
}

const [mode, framework, short] = process.argv.slice(2);
const works = { dependency: callDependency, cpu: computeAnswer };
const { options, limiterOf, limitOf } = protections[mode]();
const { server, resilience } = await frameworks[framework](options, works[short]);
const limiter = resilience && limiterOf?.(resilience);

/** @returns {Promise<boolean>} false if nobody is there any more to be told */
async function callDependency() {
  const signal = getResilienceSignal();
  try {
    await dependency.call(signal);
    return true;
  } catch (error) {
    // Past the deadline the client has its 504; or it has left.
    if (signal?.aborted) return false;
    throw error;
  }
}

async function computeAnswer() {
  compute(settings.computation.cpuMs);
  return true;
}

server.listen(0, '127.0.0.1', () => {
  // From here on an error that nothing catches is a finding to report; before, it ends the process.
  process.on('uncaughtException', (thrown, origin) => defects.push(`${origin}: ${thrown?.stack ?? thrown}`));
  process.on('warning', (warning) => defects.push(`warning: ${warning.message}`));
  process.send({ type: 'listening', port: server.address().port });
});
// Longer than the load leaves a connection unused, so that none closes just as a request is sent on it.
server.keepAliveTimeout = 60_000;

const reporting = setInterval(() => process.send({ type: 'gauge', ...gauge() }), settings.reportMs);
process.on('message', ({ type }) => (type === 'state' ? sendState() : close()));
process.on('disconnect', () => process.exit());

/** Without a limiter, the requests being worked on are those inside the dependency. */
function gauge() {
  if (limiter === undefined) return { inflight: dependency.pending, queued: resilience?.overload.queued };
  return { limit: limitOf(limiter), inflight: limiter.inflight, queued: limiter.queued };
}

function sendState() {
  server.getConnections((_error, connections) => {
    process.send({ type: 'state', ...gauge(), connections, pending: dependency.pending, defects });
  });
}

/** Leaves nothing that would keep the process alive: if it does not end now, something was forgotten. */
function close() {
  clearInterval(reporting);
  resilience?.dispose();
  server.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}
