// Preloaded on Bun: the collector under the name that Node.js has for it.

globalThis.gc = () => Bun.gc(true);
