// Writes down what an application could see of an exchange: every event of requests, responses, servers and
// sockets with its arguments, what handlers noted, and what is left on the objects at the end.
import { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse, createServer as createHttp2Server } from 'node:http2';
import { turn } from './http-server.mjs';

/** Events of servers that tell how a request was taken. */
const SERVER_EVENTS = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
  'upgrade',
  'connect',
  'clientError',
  'dropRequest',
]);
/** How often these come depends on how the system cuts a stream into pieces. */
const PIECES = new Set(['data', 'drain', 'readable', 'pause', 'resume']);
/** What a middleware further out notes, whose turn comes some microtasks earlier or later. */
export const OUTER = '  outer: ';

// The page of an error in Express has its stack, on which every middleware is.
Error.stackTraceLimit = 0;

/** @type {{ log: string[], subjects: Map<EventEmitter, string> } | undefined} */
let recording;

for (const [Class, kind] of [
  [IncomingMessage, 'req'],
  [ServerResponse, 'res'],
  [Http2ServerRequest, 'req'],
  [Http2ServerResponse, 'res'],
]) {
  record(Class, (subject, event) => {
    // Only who listens to it hears of it, and that is compared by what he notes.
    if (event === 'newListener' || event === 'removeListener') return undefined;
    return `${nameOf(subject, kind)}.${String(event)}`;
  });
}
for (const Class of [Server, createHttp2Server().constructor]) {
  record(Class, (_server, event) => (SERVER_EVENTS.has(event) ? `server.${event}` : undefined));
}

function record(Class, nameEvent) {
  const { emit } = Class.prototype;
  Class.prototype.emit = function (event, ...args) {
    const name = recording && nameEvent(this, event);
    if (name !== undefined) add(PIECES.has(event) ? name : `${name}(${args.map(describe).join(', ')})`);
    return emit.call(this, event, ...args);
  };
}

// Node.js says once a process what HTTP/2 does not have, and the package that handlers run on.
const isOnce = (text) => /UnsupportedWarning|handlers of .* run on although/.test(text);
process.on('warning', (warning) => {
  if (!isOnce(`${warning.name} ${warning.message}`)) note(`warning ${describe(warning)}`);
});
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => {
    if (recording === undefined) throw error;
    note(`${event} ${describe(error)}`);
  });
}

// What frameworks print of failures.
const { error: print } = console;
console.error = (...args) => {
  const text = `printed ${args.map(describe)}`;
  if (!isOnce(text)) recording ? note(text) : print(...args);
};

/** A line of the log. One that repeats the last is a piece more of the same. */
function add(line) {
  const { log } = recording;
  const name = line.split('.').at(-1);
  if (!PIECES.has(name)) log.push(line);
  else if (name === 'data' && log.findLast((each) => !each.startsWith(OUTER)) !== line) log.push(line);
}

/** Notes what an application has seen. */
export function note(line) {
  recording?.log.push(`  ${line}`);
}

/** The name of a request, a response or a socket, in the order in which they come up. */
function nameOf(subject, kind) {
  const { subjects } = recording;
  let name = subjects.get(subject);
  if (name === undefined) {
    const nth = [...subjects.values()].filter((each) => each.startsWith(kind)).length + 1;
    name = nth === 1 ? kind : `${kind}${nth}`;
    subjects.set(subject, name);
  }
  return name;
}

/** What can be compared of a value that an event comes with. */
export function describe(value) {
  const known = recording?.subjects.get(value);
  if (known !== undefined) return known;
  if (value instanceof Error || value instanceof DOMException) {
    return `${value.name} ${value.code ?? ''} ${value.message}`;
  }
  if (Buffer.isBuffer(value)) return `Buffer ${value.toString('latin1')}`;
  if (typeof value === 'object' && value !== null) return value.constructor?.name ?? 'null prototype';
  return typeof value === 'function' ? 'function' : (JSON.stringify(value) ?? 'undefined');
}

/** What is on an object besides its prototype, and how many listen to each of its events. */
function stateOf(subject) {
  const listeners = new Map();
  for (const event of subject.eventNames()) listeners.set(event, subject.listenerCount(event));
  return { own: Reflect.ownKeys(subject), listeners };
}

/** Follows the connections of a server, whose ends are events of the exchange. */
export function follow(server) {
  server.on('connection', (socket) => {
    if (recording === undefined) return;
    const name = nameOf(socket, 'socket');
    socket.on('end', () => note(`${name} end`));
    socket.on('close', (hadError) => note(`${name} close ${hadError}`));
  });
}

/**
 * Records all that happens until `exchange` has come to its end, and `settled()` holds.
 *
 * @template Answer
 * @param {() => Promise<Answer>} exchange
 * @param {() => boolean} settled
 */
export async function recorded(exchange, settled) {
  recording = { log: [], subjects: new Map() };
  const { log, subjects } = recording;
  try {
    const answer = await exchange();
    const isOpen = () =>
      [...subjects.values()].some((name) => name.startsWith('socket') && !hasClosed(log, name));
    for (let turns = 0; turns < 2000 && (isOpen() || !settled()); turns += 1) await turn();
    // Of what was destroyed in the last of them.
    for (let turns = 0; turns < 3; turns += 1) await turn();
    if (isOpen()) log.push('a socket is still open');
    if (!settled()) log.push('a permit is still held');
    const states = {};
    for (const [subject, name] of subjects) states[name] = stateOf(subject);
    return { answer, log, states };
  } finally {
    recording = undefined;
  }
}

const hasClosed = (log, name) => log.some((line) => line.startsWith(`  ${name} close`));

/** How often something was recorded that has `text` in it. */
export const timesNoted = (text) => recording?.log.filter((line) => line.includes(text)).length ?? 0;
