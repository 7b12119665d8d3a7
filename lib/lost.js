'use strict';

// What could not be given back where it had to be, because the stack had no room left for the call. It is given
// back in a fresh turn, or before the next execution. To note it takes no call: `lost[lost.length] = it`.

/** @type {{ recover(): void }[]} */
const lost = [];

/** Gives all of it back. What fails by a full stack again stays. */
function recover() {
  while (lost.length > 0) {
    lost[lost.length - 1].recover();
    lost.length -= 1;
  }
}

/** Leaves it to a fresh turn. Where there is no room even for that, the next execution sees to it. */
function recoverSoon() {
  try {
    Promise.resolve().then(recover);
  } catch {
    // It stays in the list.
  }
}

module.exports = { lost, recover, recoverSoon };
