import { ResiliencePipelineBuilder, TimeoutRejectedError } from '@ylcnfrht/resilience';
import { expect, test, vi } from 'vitest';

test('a deadline follows the fake timers of Vitest', async () => {
  vi.useFakeTimers();
  const late = new ResiliencePipelineBuilder().addTimeout('5s').build().execute(() => new Promise(() => {}));
  vi.advanceTimersByTime(5000);
  await expect(late).rejects.toBeInstanceOf(TimeoutRejectedError);
});
