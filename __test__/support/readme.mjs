// The parts of README.md and of the pages in docs/ that can be checked.

import { existsSync, readFileSync, readdirSync } from 'node:fs';

const root = new URL('../../', import.meta.url);
const docs = readdirSync(new URL('docs/', root)).filter((name) => name.endsWith('.md'));

/** The pages, by their path in the package. */
export const pages = ['README.md', ...docs.map((name) => `docs/${name}`)];

const texts = new Map(pages.map((page) => [page, readFileSync(new URL(page, root), 'utf8')]));
const proseOf = (page) => texts.get(page).replaceAll(/^```.*?^```$/gms, '');

/**
 * The code blocks of a language. A `text` block right after one is its output.
 *
 * @param {string} page
 * @param {string} language
 * @returns {{ line: number, code: string, output: string }[]}
 */
export function codeBlocks(page, language) {
  const text = texts.get(page);
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$(?:\\n\\n\`\`\`text\\n(.*?)^\`\`\`$)?`, 'gms');
  return [...text.matchAll(pattern)].map(({ index, 1: code, 2: output = '' }) => ({
    line: text.slice(0, index).split('\n').length,
    code,
    output,
  }));
}

/**
 * The first column of every table of the pages whose first column has this title, by the last name in
 * backticks before it. A cell may name several members.
 *
 * @param {string} title
 * @returns {Map<string | undefined, string[]>}
 */
export function firstColumns(title) {
  const text = [...texts.values()].join('\n');
  const columns = new Map();
  const pattern = new RegExp(`^\\| ${title} \\|.*\\n\\|[ -|]*\\|\\n((?:\\|.*\\n)+)`, 'gm');
  for (const { index, 1: rows } of text.matchAll(pattern)) {
    const caption = text.slice(text.lastIndexOf('\n\n', index - 3), index);
    const name = [...caption.matchAll(/`([A-Z]\w+)`/g)].at(-1)?.[1];
    const cells = [...rows.matchAll(/^\| ((?:`[$\w]+`(?:, )?)+) \|/gm)].map((row) => row[1]);
    columns.set(name, cells.flatMap((cell) => cell.replaceAll('`', '').split(', ')));
  }
  return columns;
}

/** The headings, as anchors. */
const headings = (page) =>
  [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-'),
  );

/**
 * The links within the package that lead nowhere.
 *
 * @param {string} page
 */
export function deadLinks(page) {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map((link) => link[1]);
  return links.filter((link) => {
    const target = new URL(link, new URL(page, root));
    if (target.protocol !== 'file:') return false;
    const anchor = target.hash.slice(1);
    target.hash = '';
    if (anchor === '') return !existsSync(target);
    const path = target.href.slice(root.href.length);
    return !texts.has(path) || !headings(path).includes(anchor);
  });
}
