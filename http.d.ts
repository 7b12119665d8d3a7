/// <reference types="node" />

// The public contract of the HTTP side: names and nothing else.

export * from './types/http/adapters.js';
export * from './types/http/errors.js';
export * from './types/http/fastify.js';
export * from './types/http/inbound.js';
export * from './types/http/outbound.js';
export * from './types/http/protect.js';
