import { getResilienceSignal, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

declare function queryInventory(sku: string, signal: AbortSignal): Promise<number>;

const inventory = new ResiliencePipelineBuilder<number>({ name: 'inventory' })
  .addRetry({ maxRetryAttempts: 3, delay: '200ms' })
  .addTimeout('2s')
  .build();

// Called from a route handler: no signal passed in, yet a request that hits its 5 s
// deadline also stops this call and its retries.
export const stockOf = (sku: string) => inventory.execute(({ signal }) => queryInventory(sku, signal));

// In plain handler code, read the request's signal directly (undefined outside a request):
export async function audit(entry: string) {
  await fetch('https://audit.internal/log', { method: 'POST', body: entry, signal: getResilienceSignal() });
}
