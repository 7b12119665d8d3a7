// Upgrades and tunnels: the connection is taken from HTTP, by a listener of the server or by a route.
import { ServerResponse } from 'node:http';
import { get, head } from './transparency-cases.mjs';
import { SWITCH, echo } from './transparency-native.mjs';
import { note } from './transparency-recorder.mjs';

const ASK = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

/**
 * An application whose server takes upgrades: itself, and as libraries do that let a route of it decide.
 *
 * @param {any} app
 */
export const withUpgrades = (app) => ({
  ...app,
  async create(options, createServer) {
    const made = await app.create(options, createServer);
    const { server } = made;
    server.on('upgrade', (req, socket, rest) => {
      note(`upgrade ${req.url} ${rest}`);
      if (req.url.startsWith('/native/')) {
        const res = new ServerResponse(req);
        res.assignSocket(socket);
        server.emit('request', req, res);
      } else {
        socket.write(SWITCH);
        echo(socket);
      }
    });
    server.on('connect', (req, socket, rest) => {
      note(`connect ${req.url} ${rest}`);
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      echo(socket);
    });
    return made;
  },
});

/** A client that talks and leaves. */
const talk = (hello, answer) => async (client) => {
  client.write(hello);
  await client.receive(answer);
  for (const word of ['one', 'two']) {
    client.write(word);
    await client.receive(word);
  }
  client.socket.end();
  await client.closed;
};

export const upgradeCases = [
  ['an upgrade', talk(head('/socket', ASK), SWITCH)],
  ['an upgrade by a route', talk(head('/native/get/upgrade', ASK), SWITCH)],
  ['a tunnel', talk(head('test:80', '', 'CONNECT'), 'Established')],
  ['a request beside them', get('/native/get/observed')],
];

/** Without a listener to it, an upgrade is a request. */
export const ignoredUpgradeCases = [['an upgrade that nobody takes', head('/native/get/observed', ASK)]].map(
  ([name, text]) => [
    name,
    async (client) => {
      client.write(text);
      await client.until(() => client.isComplete());
      client.socket.end();
    },
  ],
);
