import { Agent, fetch as undiciFetch, request } from 'undici';
import {
  ResiliencePipelineBuilder,
  isTransient,
  standardPipeline,
  type ExecuteOptions,
} from '@ylcnfrht/resilience';
import {
  resilienceInterceptor,
  resilientFetch,
  type InterceptedResponse,
  type OutboundOptions,
  type ResilienceInterceptor,
} from '@ylcnfrht/resilience/http';
import { equal } from './equal.mjs';

const pipeline = standardPipeline({ name: 'search' });
const options: OutboundOptions = { deadlineHeader: 'x-budget' };

const plain = resilientFetch(pipeline);
equal<typeof plain, typeof globalThis.fetch>(true);
const response = await plain('https://search.test/', { method: 'PUT', body: 'text' });
equal<typeof response, Response>(true);
await resilientFetch(standardPipeline<Response>())(new URL('https://search.test/'));

const undicis = resilientFetch(pipeline, undiciFetch, options);
equal<typeof undicis, typeof undiciFetch>(true);
resilientFetch(pipeline, undefined, { deadlineHeader: false });
resilientFetch(pipeline, globalThis.fetch, undefined);
const own = resilientFetch(pipeline, async (url: string) => ({ status: url.length }));
equal<Awaited<ReturnType<typeof own>>, { status: number }>(true);

const interceptor = resilienceInterceptor(pipeline, options);
equal<typeof interceptor, ResilienceInterceptor>(true);
const dispatcher = new Agent().compose(interceptor);
await request('https://search.test/', { dispatcher });

new ResiliencePipelineBuilder<InterceptedResponse>()
  .addRetry({ shouldHandle: isTransient })
  .addCircuitBreaker({ shouldHandle: ({ outcome }) => outcome.ok && outcome.result.statusCode === 503 });

const once: ExecuteOptions = { repeatable: false };
equal<typeof once.repeatable, boolean | undefined>(true);

// @ts-expect-error a builder is no pipeline
resilientFetch(new ResiliencePipelineBuilder());
// @ts-expect-error a fetch is a function
resilientFetch(pipeline, { deadlineHeader: false });
// @ts-expect-error the name of a header, or false
resilientFetch(pipeline, undefined, { deadlineHeader: true });
// @ts-expect-error misspelled
resilientFetch(pipeline, undefined, { header: 'x-budget' });
// @ts-expect-error a builder is no pipeline
resilienceInterceptor(new ResiliencePipelineBuilder());
// @ts-expect-error misspelled
resilienceInterceptor(pipeline, { header: 'x-budget' });
// @ts-expect-error a boolean
const wrong: ExecuteOptions = { repeatable: 1 };
export { wrong };
