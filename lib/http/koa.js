'use strict';

// Koa 3 and 2.

const { Admission } = require('./admission.js');

const KOA = {
  where: 'koaResilience',
  // Koa respects `app.proxy`.
  addressOf: (/** @type {any} */ ctx) => ctx.ip,
};

/** @param {unknown} options `InboundOptions`. */
function koaResilience(options) {
  const admission = new Admission(KOA, options);
  const middleware = (/** @type {any} */ ctx, /** @type {() => Promise<unknown>} */ next) =>
    new Promise((resolve, reject) => {
      admission.admit({
        req: ctx.req,
        res: ctx.res,
        subject: ctx,
        handle: () => void Promise.resolve(next()).then(resolve, reject),
        fail: reject,
        answered: () => {
          ctx.respond = false;
          resolve(undefined);
        },
      });
    });
  return admission.expose(middleware);
}

module.exports = { koaResilience };
