// The parts of README.md that can be checked.

import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/**
 * The code blocks of a language. A `text` block right after one is its output.
 *
 * @param {string} language
 * @returns {{ line: number, code: string, output: string }[]}
 */
export function codeBlocks(language) {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$(?:\\n\\n\`\`\`text\\n(.*?)^\`\`\`$)?`, 'gms');
  return [...text.matchAll(pattern)].map(({ index, 1: code, 2: output = '' }) => ({
    line: text.slice(0, index).split('\n').length,
    code,
    output,
  }));
}

/**
 * The first column of every table whose first column has this title, by the last name in backticks before it.
 *
 * @param {string} title
 * @returns {Map<string | undefined, string[]>}
 */
export function firstColumns(title) {
  const columns = new Map();
  const pattern = new RegExp(`^\\| ${title} \\|.*\\n\\|[ -|]*\\|\\n((?:\\|.*\\n)+)`, 'gm');
  for (const { index, 1: rows } of text.matchAll(pattern)) {
    const caption = text.slice(text.lastIndexOf('\n\n', index - 3), index);
    const name = [...caption.matchAll(/`([A-Z]\w+)`/g)].at(-1)?.[1];
    columns.set(name, [...rows.matchAll(/^\| `(\w+)` \|/gm)].map((row) => row[1]));
  }
  return columns;
}

/** The targets of the links into the page itself. */
export const anchors = () => [...text.matchAll(/\]\(#([^)]+)\)/g)].map((link) => link[1]);

/** The headings, as anchors. */
export const headings = () =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-'),
  );
