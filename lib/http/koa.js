'use strict';

// Koa 3 and 2.

const { Admission } = require('./admission.js');
const { BODY_HEADERS, answerOf } = require('./answer.js');
const { isOwnAbort, readManner, rejectionIn } = require('./handler-errors.js');
const { cutOff } = require('./respond.js');

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
      const failed = (/** @type {unknown} */ error) => {
        if (!isOwnAbort(ctx.req, error)) return reject(error);
        ctx.respond = false;
        return resolve(undefined);
      };
      admission.admit({
        req: ctx.req,
        res: ctx.res,
        subject: ctx,
        handle: () => Promise.resolve(next()).then(resolve, failed),
        fail: reject,
        answered: () => {
          ctx.respond = false;
          resolve(undefined);
        },
      });
    });
  return admission.expose(middleware);
}

/**
 * A middleware, to be added first: answers the rejection of a pipeline as a refusal of an adapter, and leaves what
 * comes of the request's own abort out of the log. It throws everything else again.
 *
 * @param {unknown} [options] `ErrorsOptions`.
 */
function koaErrors(options) {
  const manner = readManner('koaErrors', options);
  return async (/** @type {any} */ ctx, /** @type {() => Promise<unknown>} */ next) => {
    try {
      return await next();
    } catch (error) {
      if (isOwnAbort(ctx.req, error)) {
        ctx.respond = false;
        return undefined;
      }
      const rejection = rejectionIn(error);
      if (rejection === undefined) throw error;
      if (ctx.headerSent) {
        // Koa would leave it open.
        cutOff(ctx.req, ctx.res);
        throw error;
      }
      const { statusCode, headers, body } = answerOf(rejection, manner);
      for (const name of BODY_HEADERS) ctx.remove(name);
      ctx.status = statusCode;
      ctx.set(headers);
      ctx.body = body;
      return undefined;
    }
  };
}

module.exports = { koaErrors, koaResilience };
