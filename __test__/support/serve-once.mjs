// Preloaded into an example of the README that may start a server: the server listens on a free port instead,
// has to answer one request, and is then told to end as the example has it, or else closed.

import http from 'node:http';
import net from 'node:net';

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function listenOnFreePort(_port, ...rest) {
  this.once('listening', () => answerOnce(this));
  return listen.call(this, 0, ...rest);
};

/** @param {net.Server} server */
function answerOnce(server) {
  http.get({ port: server.address().port, agent: false }, (response) => {
    if (response.statusCode !== 200) throw new Error(`the server answered ${response.statusCode}`);
    response.resume().on('end', () => {
      if (!process.emit('SIGTERM')) server.close();
    });
  });
}
