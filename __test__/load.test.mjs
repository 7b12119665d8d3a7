// Every framework under five times the load that its dependency can serve, and under more than its handlers can
// compute: counts that hold on any machine. How much of the capacity becomes answers in time depends on what else the
// machine does; npm run load shows that.
import assert from 'node:assert/strict';
import test from 'node:test';

import { computation, dependency } from '../demo/settings.mjs';
import { names } from '../demo/frameworks-under-load.mjs';
import { runPhase } from '../demo/phase.mjs';

const OVERLOAD = 5;
const SECONDS = 3;
const capacity = (dependency.workers * 1000) / dependency.serviceMs;

for (const framework of names) {
  test(`${framework}: ${OVERLOAD} times the capacity leaves no request unanswered and nothing behind`, async () => {
    const { clients, problems } = await runPhase('fixed', {
      framework,
      rate: OVERLOAD * capacity,
      seconds: SECONDS,
      onProgress() {},
    });
    assert.deepEqual(problems, []);
    assert.ok(clients.served > 0 && clients.shed > 0, JSON.stringify(clients));
  });
}

test('more than handlers can compute leaves no request unanswered and nothing behind, in any framework', async () => {
  const rate = (OVERLOAD * 1000) / computation.cpuMs;
  let shed = 0;
  // At once: less for each is no less overload.
  const load = async (framework) => {
    const { clients, problems } = await runPhase('overload', {
      framework,
      short: 'cpu',
      rate,
      seconds: 1,
      load: { warmUpMs: 0, connections: rate / 4 },
      onProgress() {},
    });
    shed += clients.shed;
    return { framework, problems, isServed: clients.served > 0 };
  };
  assert.deepEqual(
    await Promise.all(names.map(load)),
    names.map((framework) => ({ framework, problems: [], isServed: true })),
  );
  // Of one that gets next to nothing of the machine, the clients may have left by then.
  assert.ok(shed > 0);
});
