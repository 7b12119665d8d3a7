'use strict';

/** That of package.json, which a bundle has not. A test compares them. */
module.exports = { version: '0.1.0' };
