import {
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  ResiliencePipelineBuilder,
  circuitBreakerStrategy,
  isTransient,
  type BreakDurationArgs,
  type CircuitBreakerOptions,
  type CircuitBreakerState,
  type CircuitBreakerStrategy,
  type CircuitState,
  type OnCircuitClosedArgs,
  type OnCircuitHalfOpenedArgs,
  type OnCircuitOpenedArgs,
  type Outcome,
  type OutcomeArgs,
  type ResilienceContext,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const builder = () => new ResiliencePipelineBuilder<Response>();

const control = new CircuitBreakerManualControl();
const provider = new CircuitBreakerStateProvider();
const options: CircuitBreakerOptions<Response> = {
  failureRatio: 0.5,
  minimumThroughput: 10,
  samplingDuration: '10s',
  breakDuration: '5s',
  breakDurationGenerator: (args) => {
    equal<typeof args, BreakDurationArgs>(true);
    return args.failureRate * args.failureCount * args.halfOpenAttempts > 1 ? '1m' : 500;
  },
  halfOpenProbes: 2,
  slowCallDuration: '1s',
  slowCallRatio: 0.8,
  consecutiveFailures: 5,
  shouldHandle: (args) => {
    equal<typeof args, OutcomeArgs<Response>>(true);
    return !args.outcome.ok || args.outcome.result.status >= 500;
  },
  onOpened: async (args) => {
    equal<typeof args, OnCircuitOpenedArgs<Response>>(true);
    equal<typeof args.outcome, Outcome<Response> | undefined>(true);
    equal<typeof args.context, ResilienceContext | undefined>(true);
    equal<typeof args.breakDuration, number>(true);
    equal<typeof args.isManual, boolean>(true);
  },
  onClosed: (args) => equal<typeof args, OnCircuitClosedArgs<Response>>(true),
  onHalfOpened: (args) => {
    equal<typeof args, OnCircuitHalfOpenedArgs>(true);
    equal<typeof args.context, ResilienceContext>(true);
  },
  manualControl: control,
  stateProvider: provider,
  name: 'Search',
};
builder().addCircuitBreaker(options).addCircuitBreaker().addCircuitBreaker(undefined);
builder().addCircuitBreaker({ shouldHandle: isTransient, breakDurationGenerator: () => '5s' });
circuitBreakerStrategy(options);

// By hand, and from outside
new CircuitBreakerManualControl(true).close();
control.isolate();
equal<typeof control.isIsolated, boolean>(true);
equal<typeof provider.state, CircuitState>(true);
equal<CircuitState, 'closed' | 'open' | 'half-open' | 'isolated'>(true);
const view = builder().addCircuitBreaker().build().getStrategy('CircuitBreaker')!;
equal<typeof view, CircuitBreakerStrategy>(true);
equal<typeof view.state, CircuitState>(true);
const saved = view.exportState();
equal<typeof saved, CircuitBreakerState>(true);
view.restoreState(JSON.parse(JSON.stringify(saved)));
view.restoreState({ state: 'open', breakRemaining: 500, exportedAt: Date.now() });

// @ts-expect-error unknown state
view.restoreState({ state: 'broken', breakRemaining: 0, exportedAt: 0 });
// @ts-expect-error when is missing
view.restoreState({ state: 'closed', breakRemaining: 0 });
// @ts-expect-error read-only
provider.state = 'open';
// @ts-expect-error a state is no boolean
new CircuitBreakerManualControl('open');
// @ts-expect-error misspelled
builder().addCircuitBreaker({ failureRate: 0.5 });
// @ts-expect-error a number of failures
builder().addCircuitBreaker({ consecutiveFailures: true });
// @ts-expect-error not a duration
builder().addCircuitBreaker({ breakDuration: '5sec' });
// @ts-expect-error a predicate answers at once
builder().addCircuitBreaker({ shouldHandle: async () => true });
// @ts-expect-error a Response has no such field
builder().addCircuitBreaker({ shouldHandle: ({ outcome }) => outcome.ok && outcome.result.state === 503 });
// @ts-expect-error not a duration
builder().addCircuitBreaker({ breakDurationGenerator: () => undefined });
// @ts-expect-error: it has to answer at once
builder().addCircuitBreaker({ breakDurationGenerator: async () => 1000 });
// @ts-expect-error another kind of provider
builder().addCircuitBreaker({ stateProvider: control });
