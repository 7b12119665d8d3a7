'use strict';

const { AsyncResource } = require('node:async_hooks');

/** Keeps AsyncLocalStorage stores to run something in, those of the moment when it is made, and nothing alive. */
class Outside extends AsyncResource {
  /** @param {string} name */
  constructor(name) {
    super(name, { requireManualDestroy: true });
  }

  /** To Jest, each resource is an open handle that does not say that it keeps nothing alive. */
  hasRef() {
    return false;
  }
}

module.exports = { Outside };
