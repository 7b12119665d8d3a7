// What handlers of Node's own request and response note of what they see.
import { Transform } from 'node:stream';
import { describe, note } from './transparency-recorder.mjs';

/** A callback that takes an error or none. */
export const noted = (what) => (error) => note(`${what} ${error ? describe(error) : 'well'}`);

/** What an action is refused with. */
export function attempt(what, action) {
  try {
    action();
    note(`${what}: done`);
  } catch (error) {
    note(`${what}: ${describe(error)}`);
  }
}

/** What comes in upper case: a stream in the middle of others. */
export const shout = () =>
  new Transform({
    transform(chunk, _encoding, done) {
      done(null, chunk.toString().toUpperCase());
    },
  });

/** Listens to everything that an application might. */
export function observe(req, res) {
  for (const event of ['end', 'close', 'aborted', 'error']) {
    req.on(event, (...args) => note(`heard req ${event} ${args.map(describe)}`));
  }
  for (const event of ['prefinish', 'finish', 'close', 'error', 'pipe', 'unpipe']) {
    res.on(event, (...args) => {
      const { writableFinished, writableEnded, headersSent, statusCode, destroyed } = res;
      note(`heard res ${event} ${args.map(describe)}`);
      note(
        `${[writableFinished, writableEnded, headersSent, statusCode, destroyed, req.destroyed, req.complete]}`,
      );
    });
  }
}
