const LEVELS = ' ▁▂▃▄▅▆▇█';
/** The upper line carries the highest value at its left, the lower one 0. */
const HEIGHT = 2;

/**
 * A block chart from 0 to the highest value, with that scale at its left.
 * @param {string} title
 * @param {(number | undefined)[]} values evenly spaced in time; undefined leaves a gap
 * @param {number} width
 * @returns {string[]} lines of at most `width` columns
 */
export function plot(title, values, width) {
  const label = title.padEnd(14);
  const columns = resample(values, width - label.length - 8);
  const top = Math.max(1, ...columns.filter((value) => value !== undefined));
  return Array.from({ length: HEIGHT }, (_, row) => {
    const floor = HEIGHT - 1 - row;
    const blocks = columns.map((value) => block(value, top, floor)).join('');
    const [left, scale] = row === 0 ? [label, Math.round(top)] : [' '.repeat(label.length), 0];
    return `${left}${String(scale).padStart(6)} ${blocks}`.trimEnd();
  });
}

/** A value above 0 always shows: it gets at least the lowest block. */
function block(value, top, floor) {
  if (value === undefined) return ' ';
  const steps = LEVELS.length - 1;
  const filled = Math.max(value > 0 ? 1 : 0, Math.round((value / top) * HEIGHT * steps));
  return LEVELS[Math.max(0, Math.min(steps, filled - floor * steps))];
}

/** The mean of each column's share of the values. */
function resample(values, columns) {
  const count = Math.min(columns, values.length);
  const edge = (column) => Math.floor((column * values.length) / count);
  return Array.from({ length: count }, (_, column) => {
    const known = values.slice(edge(column), edge(column + 1)).filter((value) => value !== undefined);
    return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
}
