'use strict';

const LINE_EVERY_MS = 5000;
const BAR_WIDTH = 24;

/**
 * How far a simulation is: on a terminal one line that is redrawn, elsewhere a line now and then.
 *
 * @param {string} title
 * @param {NodeJS.WriteStream} stream
 */
function progressBar(title, stream) {
  const live = stream.isTTY === true;
  let printedAt = performance.now();

  /** @param {{ done: number, total: number, fraction: number }} progress */
  const show = ({ done, total, fraction }) => {
    const percent = `${Math.floor(fraction * 100)} %`;
    const runs = `${done} of ${total} ${total === 1 ? 'run' : 'runs'}`;
    if (live) {
      const filled = Math.round(fraction * BAR_WIDTH);
      const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
      const text = `Simulating ${title} ${bar} ${percent.padStart(5)}  ${runs}`;
      stream.write(`\r\x1b[2K${text.slice(0, (stream.columns || 80) - 1)}`);
    } else if (performance.now() - printedAt >= LINE_EVERY_MS) {
      printedAt = performance.now();
      stream.write(`Simulating ${title}: ${percent}, ${runs}\n`);
    }
  };
  const clear = () => {
    if (live) stream.write('\r\x1b[2K');
  };
  return { show, clear };
}

module.exports = { progressBar };
