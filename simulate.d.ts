/// <reference types="node" />

// The public contract of the simulator: names and nothing else.

export * from './types/simulate/scenario.js';
export * from './types/simulate/report.js';
export * from './types/simulate/simulate.js';
