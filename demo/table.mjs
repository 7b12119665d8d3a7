// Tables of figures.

/** What the clients of one run saw. */
export const FIGURES = [
  ...['offered/s', 'good/s', 'of capacity', '503', '504', 'gave up'],
  ...['p50 ms', 'p99 ms', '503 p99 ms'],
];

/**
 * @param {any} clients
 * @param {{ capacity: number, seconds: number }} run
 */
export function figures(clients, { capacity, seconds }) {
  return [
    whole(clients.offered / seconds),
    whole(clients.served / seconds),
    percent(clients.served / seconds / capacity),
    whole(clients.shed),
    whole(clients.timedOut),
    whole(clients.gaveUp),
    tenths(clients.p50),
    tenths(clients.p99),
    tenths(clients.shedP99),
  ];
}

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
