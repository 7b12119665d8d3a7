'use strict';

module.exports = {
  WAITING: 0,
  RUNNING: 1,
  DIRECT: 2,
  SETTLED: 3,
  /** In place of a ticket: holds a permit that the core has lent. */
  LENT: 1,
};
