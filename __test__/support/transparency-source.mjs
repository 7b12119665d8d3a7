// What the applications of the transparency tests send.
import { createReadStream } from 'node:fs';
import { relative } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A directory with files of the repository. */
export const directory = fileURLToPath(new URL('../../scenarios/', import.meta.url));
export const relativeDirectory = relative(process.cwd(), directory) || '.';
export const FILE = 'schema.json';

export const openFile = () => createReadStream(`${directory}${FILE}`);

/** A file that does not exist. */
export const openNothing = () => createReadStream(`${directory}none`);

/** A stream that fails midway. */
export function failingStream() {
  return Readable.from(
    (async function* () {
      yield Buffer.from('begun');
      throw new Error('the stream failed');
    })(),
  );
}

/** An error that says how it is to be answered. */
export const teapot = () =>
  Object.assign(new Error('short and stout'), { status: 418, statusCode: 418, expose: true });
