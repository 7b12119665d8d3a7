// Tables of figures.

/**
 * @param {string[]} columns
 * @param {string[][]} rows
 * @returns {string[]} lines: the first column to the left, the others to the right
 */
export function align(columns, rows) {
  const widths = columns.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const line = ([first, ...others]) =>
    [first.padEnd(widths[0]), ...others.map((cell, i) => cell.padStart(widths[i + 1]))].join('  ');
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

export function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}

export function tenths(value) {
  return value === undefined ? '-' : value.toFixed(1);
}

export function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}
