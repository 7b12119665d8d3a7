// What the documentation shows over the code of each seed file.

const BUILDER_DOCS = 'Polly-style builder with a shortcut for every strategy: addRetry(), addTimeout(), '
  + 'addCircuitBreaker(), … Convenient, but it bundles every strategy. For the smallest browser bundle use '
  + 'PipelineBuilder with retryStrategy(), timeoutStrategy(), … instead; the two are interchangeable.  '
  + 'The type parameters track which errors the pipeline can raise, for '
  + 'pipeline.settle() + Outcome.match().';
const BUILDER = ['ResiliencePipelineBuilder',
  'class ResiliencePipelineBuilder<T = any, E = never, C extends string = never>', BUILDER_DOCS];
const newBuilder = (T) => ['ResiliencePipelineBuilder',
  `new ResiliencePipelineBuilder<${T}, never, never>(options?: ResiliencePipelineBuilderOptions): `
  + `ResiliencePipelineBuilder<${T}, never, never>`, BUILDER_DOCS];
const NAME = ['name', 'ResiliencePipelineBuilderOptions.name?: string | undefined',
  'Labels telemetry events.'];

const ONE_ERROR = 'ResiliencePipeline<any, BulkheadRejectedError>';
const TWO_ERRORS = 'ResiliencePipeline<any, WithErrors<BulkheadRejectedError, never, TimeoutRejectedError>>';
const BUILD_ONE = ['build',
  `ResiliencePipelineBuilder<any, BulkheadRejectedError, never>.build(): ${ONE_ERROR}`];
const BUILD_TWO = ['build',
  'ResiliencePipelineBuilder<any, WithErrors<BulkheadRejectedError, never, TimeoutRejectedError>, '
  + `never>.build(): ${TWO_ERRORS}`];

const ADD_ADAPTIVE = ['addAdaptiveConcurrencyLimiter',
  'ResiliencePipelineBuilder<any, never, never>.addAdaptiveConcurrencyLimiter('
  + 'options?: AdaptiveConcurrencyLimiterOptions<any>): Next<any, never, never, BulkheadRejectedError>',
  'Concurrency limit that tunes itself from observed latency and failures (gradient2 / vegas / aimd), '
  + 'so you don\'t have to guess the right number: it grows while the dependency keeps up and backs off '
  + 'when it queues.'];
const adaptive = (option, type, docs) =>
  [option, `AdaptiveConcurrencyLimiterOptions<any>.${option}?: ${type}`, docs];
const ALGORITHM =
  'Default \'gradient2\'. Pass an object for custom tuning (vegas({ alpha: 2 })) or your own algorithm.';
const INITIAL = adaptive('initialLimit', 'number | undefined', 'Default 20.');
const MIN = adaptive('minLimit', 'number | undefined', 'Default 1.');
const MAX = adaptive('maxLimit', 'number | undefined', 'Default 1000.');
const PROVIDER_OPTION = adaptive('limitProvider', 'AdaptiveLimitProvider | undefined',
  'Read limit / inflight / queued from outside.');

const QUEUE_LIMIT = 'Max executions waiting (FIFO) for a permit. Default 0.';
const QUEUE_TIMEOUT =
  'Longest a queued execution waits for a permit before it is rejected. Default: no limit.';
const addTimeout = (types) => ['addTimeout',
  `ResiliencePipelineBuilder<${types}>.addTimeout(options: Duration | TimeoutOptions): `
  + `Next<${types}, TimeoutRejectedError>`,
  'addTimeout(5000), addTimeout(\'5s\') or addTimeout({ timeout: \'5s\', onTimeout }).'];
const addLimiter = (types) => ['addConcurrencyLimiter',
  `ResiliencePipelineBuilder<${types}>.addConcurrencyLimiter(options: number | ConcurrencyLimiterOptions, `
  + `queueLimit?: number): Next<${types}, BulkheadRejectedError>`,
  'addConcurrencyLimiter(10), addConcurrencyLimiter(10, 50) or full options.'];

const execute = (pipeline, result) => ['execute',
  `${pipeline}.execute<${result}>(callback: (context: ResilienceContext) => MaybePromise<${result}>, `
  + `options?: ExecuteOptions): Promise<${result}>`,
  'Runs the callback through the pipeline; throws the final error.'];
const SIGNAL = ['signal', 'signal: AbortSignal',
  'Aborted when the caller cancels, or when a strategy (timeout, hedging) gives up on this execution.'];

const VEGAS = ['vegas', 'function vegas(options?: VegasOptions): LimitAlgorithm',
  'TCP Vegas applied to concurrency. The fastest latency seen is the no-queue latency; with limit '
  + 'calls in flight at latency rtt, limit * (1 - minRtt / rtt) of them are waiting in the dependency\'s '
  + 'queue. Keep that queue between alpha and beta: below means unused capacity, above only adds '
  + 'latency. Thresholds scale with log10(limit) so large limits tolerate a longer queue. Instead of '
  + 'Vegas\' fixed +-1 steps, the limit moves toward the band by the queue error (damped), which '
  + 'converges in a few round trips.'];
const LIMIT_ALGORITHM = ['LimitAlgorithm', '(alias) interface LimitAlgorithm\nimport LimitAlgorithm',
  'Computes the next concurrency limit from a sample. Stateful: give each strategy its own instance. '
  + 'The strategy clamps the result to [minLimit, maxLimit].'];
const DROPPED = ['dropped', 'dropped: boolean',
  'The dependency showed overload (timeout, rejection, transient error).'];
const LIMIT = ['limit', 'limit: number', 'The current limit (may be fractional).'];

const PROVIDER_DOCS = 'Reads the live limit of one adaptive limiter (health checks, dashboards).';
const PROVIDER = ['AdaptiveLimitProvider', 'class AdaptiveLimitProvider', PROVIDER_DOCS];
const NEW_PROVIDER = ['AdaptiveLimitProvider', 'new AdaptiveLimitProvider(): AdaptiveLimitProvider',
  PROVIDER_DOCS];

const GET_SIGNAL = ['getResilienceSignal', 'function getResilienceSignal(): AbortSignal | undefined',
  'Shortcut for getResilienceContext()?.signal: pass it to fetch / your DB driver from deep inside a call.'];
const CONTEXT = ['ResilienceContext', '(alias) interface ResilienceContext\nimport ResilienceContext'];
const CTX = ['ctx', 'ctx: ResilienceContext'];
const HTTP_REQUEST = ['HTTP_REQUEST', 'const HTTP_REQUEST: "@ylcnfrht/resilience.httpRequest"',
  'context.properties key of the inbound request (Express req'];
const REQ = ['Req', 'type Req = {\n    method: string;\n    path: string;\n    headers: Record<string, '
  + 'string | undefined>;\n}'];

// [identifier, what is shown, what its documentation says], in the order of the file.
export const expected = {
  'seed-adaptive-first.mts': [
    BUILDER,
    ['pipeline', `const pipeline: ${TWO_ERRORS}`],
    newBuilder('any'),
    ADD_ADAPTIVE,
    MIN,
    MAX,
    addTimeout('any, BulkheadRejectedError, never'),
    BUILD_TWO,
    ['pipeline', `const pipeline: ${TWO_ERRORS}`],
    execute(TWO_ERRORS, 'Response'),
    SIGNAL,
  ],
  'seed-adaptive-vegas.mts': [
    BUILDER,
    VEGAS,
    ['pipeline', `const pipeline: ${ONE_ERROR}`],
    newBuilder('any'),
    ADD_ADAPTIVE,
    adaptive('algorithm', 'LimitAlgorithm | "vegas" | "gradient2" | "aimd" | "knee" | undefined', ALGORITHM),
    VEGAS,
    ['alpha', 'VegasOptions.alpha?: number | undefined',
      'Grow while the estimated queue is below alpha * log10(limit). Default 3.'],
    ['beta', 'VegasOptions.beta?: number | undefined',
      'Shrink when the estimated queue is above beta * log10(limit). Default 6.'],
    INITIAL,
    BUILD_ONE,
  ],
  'seed-adaptive-custom.mts': [
    LIMIT_ALGORITHM,
    BUILDER,
    ['halving', 'const halving: LimitAlgorithm'],
    LIMIT_ALGORITHM,
    ['onSample', 'LimitAlgorithm.onSample(sample: LimitSample): number'],
    DROPPED,
    LIMIT,
    DROPPED,
    LIMIT,
    LIMIT,
    ['pipeline', `const pipeline: ${ONE_ERROR}`],
    newBuilder('any'),
    ADD_ADAPTIVE,
    adaptive('algorithm', 'LimitAlgorithm | "vegas" | "gradient2" | "aimd" | "knee" | undefined', ALGORITHM),
    ['halving', 'const halving: LimitAlgorithm'],
    BUILD_ONE,
  ],
  'seed-adaptive-provider.mts': [
    PROVIDER,
    BUILDER,
    ['provider', 'const provider: AdaptiveLimitProvider'],
    NEW_PROVIDER,
    ['pipeline', `const pipeline: ${ONE_ERROR}`],
    newBuilder('any'),
    ADD_ADAPTIVE,
    PROVIDER_OPTION,
    ['provider', 'const provider: AdaptiveLimitProvider'],
    adaptive('onLimitChanged', '((args: OnLimitChangedArgs) => void) | undefined'),
    ['oldLimit', 'oldLimit: number'],
    ['newLimit', 'newLimit: number'],
    ['sample', 'sample: LimitSample'],
    ['oldLimit', 'oldLimit: number'],
    ['newLimit', 'newLimit: number'],
    ['sample', 'sample: LimitSample'],
    ['rtt', 'LimitSample.rtt: number', 'Latency of the execution in ms.'],
    BUILD_ONE,
    ['limit', 'limit: number'],
    ['provider', 'const provider: AdaptiveLimitProvider'],
    ['limit', 'AdaptiveLimitProvider.limit: number'],
    ['inflight', 'inflight: number'],
    ['provider', 'const provider: AdaptiveLimitProvider'],
    ['inflight', 'AdaptiveLimitProvider.inflight: number'],
    ['queued', 'queued: number'],
    ['provider', 'const provider: AdaptiveLimitProvider'],
    ['queued', 'AdaptiveLimitProvider.queued: number'],
  ],
  'seed-shedding-deadline.mts': [
    ['inventory', 'const inventory: ResiliencePipeline<number, TimeoutRejectedError>'],
    newBuilder('number'),
    NAME,
    ['addRetry', 'ResiliencePipelineBuilder<number, never, never>.addRetry(options?: RetryOptions<number>): '
      + 'ResiliencePipelineBuilder<number, never, never>'],
    ['maxRetryAttempts', 'RetryOptions<number>.maxRetryAttempts?: number | undefined',
      'Retries in addition to the original call. Default 3. Infinity retries until aborted.'],
    ['delay', 'RetryOptions<number>.delay?: Duration | undefined', 'Base delay. Default 2000 ms.'],
    addTimeout('number, never, never'),
    ['build', 'ResiliencePipelineBuilder<number, TimeoutRejectedError, never>.build(): '
      + 'ResiliencePipeline<number, TimeoutRejectedError>'],
    ['stockOf', 'const stockOf: (sku: string) => Promise<number>'],
    ['sku', 'sku: string'],
    ['inventory', 'const inventory: ResiliencePipeline<number, TimeoutRejectedError>'],
    execute('ResiliencePipeline<number, TimeoutRejectedError>', 'number'),
    SIGNAL,
    ['queryInventory', 'function queryInventory(sku: string, signal: AbortSignal): Promise<number>'],
    ['sku', 'sku: string'],
    SIGNAL,
    ['audit', 'function audit(entry: string): Promise<void>'],
    GET_SIGNAL,
  ],
  'seed-shedding-priority.mts': [
    BUILDER,
    CONTEXT,
    HTTP_REQUEST,
    REQ,
    ['req', 'const req: (ctx: ResilienceContext) => Req'],
    CTX,
    CONTEXT,
    CTX,
    ['properties', 'ResilienceContext.properties: Map<string, unknown>',
      'Shared bag for passing data between strategies and the callback.'],
    ['get', 'Map<string, unknown>.get(key: string): unknown'],
    HTTP_REQUEST,
    REQ,
    ['priority', 'function priority(ctx: ResilienceContext): number', 'Lower runs sooner.'],
    CTX,
    CONTEXT,
    ['r', 'const r: Req'],
    ['inbound', `const inbound: ${TWO_ERRORS}`],
    newBuilder('any'),
    NAME,
    addLimiter('any, never, never'),
    ['permitLimit', 'ConcurrencyLimiterOptions.permitLimit: number', 'Max executions running at once.'],
    ['queueLimit', 'ConcurrencyLimiterOptions.queueLimit?: number | undefined', QUEUE_LIMIT],
    ['queueTimeout', 'ConcurrencyLimiterOptions.queueTimeout?: Duration | undefined', QUEUE_TIMEOUT],
    ['priority', 'ConcurrencyLimiterOptions.priority?: ((context: ResilienceContext) => number) | undefined',
      'Queue order: lower runs sooner (like a Unix nice value); FIFO within a priority. Default 0 for '
      + 'everyone.'],
    ['overflow',
      'ConcurrencyLimiterOptions.overflow?: "reject-new" | "drop-oldest" | "drop-lowest-priority" | '
      + 'undefined',
      'When the queue is full: \'reject-new\' (default) rejects the newcomer; \'drop-oldest\' rejects '
      + 'the longest-waiting execution instead; \'drop-lowest-priority\' rejects the newest of the '
      + 'lowest priority, if the newcomer outranks it. Dropped executions reject with '
      + 'BulkheadRejectedError reason \'dropped\'.'],
    addTimeout('any, BulkheadRejectedError, never'),
    BUILD_TWO,
  ],
  'seed-shedding-adaptive.mts': [
    ['limit', 'const limit: AdaptiveLimitProvider'],
    NEW_PROVIDER,
    ['inbound', `const inbound: ${TWO_ERRORS}`],
    newBuilder('any'),
    NAME,
    ADD_ADAPTIVE,
    adaptive('algorithm', '"vegas" | "gradient2" | "aimd" | "knee" | LimitAlgorithm | undefined', ALGORITHM),
    INITIAL,
    MIN,
    MAX,
    adaptive('queueLimit', 'number | undefined', QUEUE_LIMIT),
    adaptive('queueTimeout', 'Duration | undefined', QUEUE_TIMEOUT),
    PROVIDER_OPTION,
    ['limit', 'const limit: AdaptiveLimitProvider'],
    addTimeout('any, BulkheadRejectedError, never'),
    BUILD_TWO,
  ],
  'seed-shedding-fallback.mts': [
    ['recommendations', 'const recommendations: ResiliencePipeline<string[], never>'],
    newBuilder('string[]'),
    NAME,
    ['addFallback',
      'ResiliencePipelineBuilder<string[], never, never>.addFallback(options: '
      + 'FallbackOptions<string[]> & {\n    shouldHandle?: undefined;\n}): '
      + 'ResiliencePipelineBuilder<string[], never, string> (+1 overload)',
      'Without shouldHandle it catches every failure of the strategies added after it, so their errors '
      + 'leave the error type.'],
    ['fallbackAction', 'FallbackOptions<string[]>.fallbackAction?: '
      + '((args: OutcomeArgs<string[]>) => MaybePromise<string[]>) | undefined',
      'Produces the substitute value; throwing here makes the execution fail with that error. Give '
      + 'either this or fallbackValue.'],
    addLimiter('string[], never, string'),
    ['permitLimit', 'ConcurrencyLimiterOptions.permitLimit: number', 'Max executions running at once.'],
    ['queueLimit', 'ConcurrencyLimiterOptions.queueLimit?: number | undefined', QUEUE_LIMIT],
    addTimeout('string[], never, string'),
    ['build', 'ResiliencePipelineBuilder<string[], never, string>.build(): ResiliencePipeline<string[], '
      + 'never>'],
  ],
};
