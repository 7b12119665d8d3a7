// As much of an XML reader as well-formedness takes: elements, attributes, text and the named entities.

const NAME = '[A-Za-z_][\\w.:-]*';
const TOKEN = new RegExp(
  `<(?<close>/)?(?<name>${NAME})(?<attributes>(?:\\s+${NAME}="[^"<]*")*)\\s*(?<empty>/)?>|(?<text>[^<]+)`,
  'gy',
);
const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
/** What a document may not contain. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;

const unescape = (text) =>
  text.replace(/&(?:(\w+);)?/g, (whole, entity) => {
    if (!Object.hasOwn(ENTITIES, entity ?? '')) throw new Error(`a bare & or an unknown entity: ${whole}`);
    return ENTITIES[entity];
  });

/**
 * @param {string} source
 * @returns {{ name: string, attributes: Record<string, string>, children: any[], text: string }}
 */
export function parseXml(source) {
  if (FORBIDDEN.test(source)) throw new Error('a character that XML has no place for');
  const top = { name: '', attributes: {}, children: [], text: '' };
  const open = [top];
  let end = 0;
  for (const { 0: whole, index, groups } of source.matchAll(TOKEN)) {
    end = index + whole.length;
    const parent = open.at(-1);
    if (groups.text !== undefined) {
      parent.text += unescape(groups.text);
    } else if (groups.close) {
      if (open.pop().name !== groups.name) throw new Error(`</${groups.name}> closes <${parent.name}>`);
    } else {
      const pairs = [...groups.attributes.matchAll(/([\w.:-]+)="([^"]*)"/g)].map(([, key, value]) => [
        key,
        unescape(value),
      ]);
      const attributes = Object.fromEntries(pairs);
      if (Object.keys(attributes).length !== pairs.length)
        throw new Error(`${groups.name} has an attribute twice`);
      const node = { name: groups.name, attributes, children: [], text: '' };
      parent.children.push(node);
      if (!groups.empty) open.push(node);
    }
  }
  if (end !== source.length) throw new Error(`not XML from ${source.slice(end, end + 40)}`);
  if (open.length !== 1 || top.children.length !== 1 || top.text.trim() !== '')
    throw new Error('not one element');
  return top.children[0];
}
