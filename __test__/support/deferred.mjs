/** A promise with its two ends. */
export function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((...ends) => {
    [resolve, reject] = ends;
  });
  return { promise, resolve, reject };
}
