import { gradient2, vegas } from '@ylcnfrht/resilience';
import {
  readScenario,
  scenarioNames,
  simulate,
  type Caller,
  type Figures,
  type Scenario,
  type Service,
  type SimulateOptions,
  type SimulationReport,
} from '@ylcnfrht/resilience/simulate';
import { equal } from './equal.mjs';

const scenario: Scenario = {
  name: 'own',
  duration: '60s',
  deadline: 500,
  timeout: undefined,
  oracle: 13,
  limiter: { initialLimit: 20, overflow: 'drop-oldest', queueTimeout: '1s', operationKeys: true },
  dependency: {
    workers: 10,
    discipline: 'sharing',
    service: { distribution: 'erlang', shape: 4, mean: '50ms' },
    stall: { every: '2s', length: '200ms' },
  },
  callers: [
    { name: 'web', rate: 100, retries: { attempts: 2, delay: '10ms' } },
    { name: 'jobs', client: 'batch', arrivals: 'bursts', rate: 10, burst: 5, priority: 1 },
    { name: 'people', arrivals: 'closed', users: 30, think: '1s', operation: 'search' },
  ],
  phases: [{ at: '10s', workers: 0, stall: null, rates: { web: 200 } }],
  windows: { after: ['10s', 60_000] },
};

const controller = new AbortController();
const options: SimulateOptions = {
  scenario,
  algorithms: ['knee', 'fixed:13', 'oracle', vegas({ alpha: 2 })],
  seeds: [1, 7],
  points: 100,
  signal: controller.signal,
  onProgress: ({ done, total, fraction }) => {
    equal<typeof done | typeof total | typeof fraction, number>(true);
  },
};
export const report = await simulate(options);
equal<typeof report, SimulationReport>(true);
equal<ReturnType<typeof simulate>, Promise<SimulationReport>>(true);
equal<ReturnType<typeof readScenario>, Scenario>(true);
equal<ReturnType<typeof scenarioNames>, string[]>(true);
equal<typeof report.deadline, number | undefined>(true);

await simulate({ scenario: 'steady' });
await simulate({ scenario: readScenario('steady'), algorithms: gradient2(), seeds: 3 });
await simulate({ scenario: { ...readScenario('steady'), duration: '10s' }, algorithms: 'aimd' });

for (const { algorithm, figures, windows, runs } of report.algorithms) {
  equal<typeof algorithm, string>(true);
  equal<typeof figures, Figures>(true);
  const after: Figures | undefined = windows['after'];
  equal<typeof figures.callers.web, Figures['callers'][string]>(true);
  for (const { seed, series } of runs) {
    equal<typeof seed, number>(true);
    equal<typeof series.limit, readonly number[]>(true);
    // @ts-expect-error read only
    series.limit.push(1);
  }
  // @ts-expect-error read only
  figures.goodput = 1;
  // @ts-expect-error misspelled
  after?.throughPut;
}

// @ts-expect-error a scenario is required
simulate({});
// @ts-expect-error misspelled
simulate({ scenario: 'steady', algorithm: 'knee' });
// @ts-expect-error no algorithm
simulate({ scenario: 'steady', algorithms: 'nee' });
// @ts-expect-error not a number of seeds
simulate({ scenario: 'steady', seeds: '5' });
// @ts-expect-error no name
readScenario();

const service: Service = { distribution: 'constant', mean: 40 };
// @ts-expect-error the shape is missing
export const erlang: Service = { distribution: 'erlang', mean: 40 };
// @ts-expect-error a constant has no shape
export const constant: Service = { distribution: 'constant', mean: 40, shape: 4 };
// @ts-expect-error the rate is missing
export const rateless: Caller = { arrivals: 'even' };
// @ts-expect-error users have no rate
export const users: Caller = { arrivals: 'closed', users: 5, rate: 5 };
// @ts-expect-error a burst has a size
export const bursts: Caller = { arrivals: 'bursts', rate: 5 };
// @ts-expect-error the dependency is missing
export const alone: Scenario = { duration: '1s', callers: { rate: 1 } };
export const least: Scenario = { duration: 1, dependency: { workers: 1, service }, callers: { rate: 1 } };
