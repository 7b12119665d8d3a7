// The items of `executeStream` have the type that the callback's stream has.
import { Readable } from 'node:stream';
import { ResiliencePipelineBuilder, type ResilienceContext } from '@ylcnfrht/resilience';
import type { Equal } from './equal.mjs';

const pipeline = new ResiliencePipelineBuilder().addRetry().addTimeout('1s').build();

async function* tokens({ signal }: ResilienceContext) {
  if (!signal.aborted) yield 'token';
}

const items = pipeline.executeStream(tokens);
export const ofGenerator: Equal<typeof items, AsyncGenerator<string, void, undefined>> = true;
const rows = pipeline.executeStream(async () => [{ id: 1 }], { body: true, detached: true, repeatable: false });
export const ofPromise: Equal<typeof rows, AsyncGenerator<{ id: number }, void, undefined>> = true;
export const iterator: AsyncGenerator<number> = pipeline.executeStream(() => new Set([1]));
for await (const chunk of pipeline.executeStream(() => Readable.from(['chunk']))) String(chunk);

// @ts-expect-error a number is no stream
pipeline.executeStream(() => 1);
// @ts-expect-error a signal is no object of options
pipeline.executeStream(tokens, 1);
// @ts-expect-error a boolean is expected
pipeline.executeStream(tokens, { body: 'yes' });
