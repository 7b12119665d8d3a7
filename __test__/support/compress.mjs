import { createGzip } from 'node:zlib';

/** A middleware that compresses every response: it holds back what is written, and patches what writes it. */
export function compress(_req, res, next) {
  const { writeHead, write, end } = res;
  let gzip;
  res.writeHead = (...args) => {
    if (gzip === undefined) {
      gzip = createGzip();
      gzip.on('data', (chunk) => Reflect.apply(write, res, [chunk]));
      gzip.on('end', () => Reflect.apply(end, res, []));
      res.removeHeader('content-length');
      res.setHeader('content-encoding', 'gzip');
    }
    return Reflect.apply(writeHead, res, args);
  };
  res.write = (chunk) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return gzip.write(chunk);
  };
  res.end = (chunk) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    gzip.end(chunk);
    return res;
  };
  next();
}
