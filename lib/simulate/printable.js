'use strict';

/** What moves the cursor, colours, rings, or turns the direction of what follows. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A line in which what commands a terminal stands as text, in the escapes of JSON: names come from files of anybody.
 *
 * @param {string} line
 */
const printable = (line) =>
  line.replace(CONTROL, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

module.exports = { printable };
