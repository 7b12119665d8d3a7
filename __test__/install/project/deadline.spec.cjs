'use strict';

const { ResiliencePipelineBuilder, TimeoutRejectedError } = require('@ylcnfrht/resilience');

test('a deadline follows the fake timers of Jest', async () => {
  jest.useFakeTimers();
  const late = new ResiliencePipelineBuilder().addTimeout('5s').build().execute(() => new Promise(() => {}));
  jest.advanceTimersByTime(5000);
  await expect(late).rejects.toBeInstanceOf(TimeoutRejectedError);
});
