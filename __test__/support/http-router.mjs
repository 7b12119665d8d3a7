/**
 * A router for what has none of its own: finds the handler of a request. HEAD is a GET.
 *
 * @param {Record<string, unknown>} routes By `'GET /path/:parameter'`.
 */
export function router(routes) {
  const patterns = Object.entries(routes).map(([route, handler]) => {
    const [method, path] = route.split(' ');
    return { method, path: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`), handler };
  });
  return ({ method, url }) => {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const [path] = url.split('?');
    return patterns.find((pattern) => pattern.method === wanted && pattern.path.test(path))?.handler;
  };
}
