'use strict';

// Colours that differ for the colour-blind too, on white and on black.

/** The least height of a mark of drops. */
const DROP = 4;

const STYLE = `
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 18px; font-weight: 600; }
.name { font-size: 15px; font-weight: 600; }
.muted { fill: #59636e; font-size: 12px; }
.small { font-size: 11px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.background { fill: #ffffff; }
.window { fill: #59636e; fill-opacity: 0.07; }
.grid, .axis, .tick, .limit, .latency, .capacity, .deadline, .drops { fill: none; }
.grid { stroke: #d1d9e0; }
.axis, .tick { stroke: #818b98; }
.inflight { fill: #54aeff; fill-opacity: 0.4; }
.limit { stroke: #0550ae; stroke-width: 2; stroke-linejoin: round; }
.capacity { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 6 4; }
.latency { stroke: #bc4c00; stroke-width: 1.5; stroke-linejoin: round; }
.deadline { stroke: #bc4c00; stroke-dasharray: 2 3; }
.drops { stroke: #cf222e; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.muted { fill: #9198a1; }
.background { fill: #0d1117; }
.window { fill: #9198a1; fill-opacity: 0.12; }
.grid { stroke: #2a313c; }
.axis, .tick { stroke: #656c76; }
.inflight { fill: #1f6feb; fill-opacity: 0.4; }
.limit { stroke: #79c0ff; }
.capacity { stroke: #f0f6fc; }
.latency, .deadline { stroke: #f0883e; }
.drops { stroke: #ff7b72; }
}
`;

/** @type {readonly (readonly [label: string, width: number, mark: (x: number, y: number) => string])[]} */
const MARKS = [
  ['limit', 78, (x, y) => `<path class="limit" d="M${x} ${y}h22"/>`],
  ['in flight', 98, (x, y) => `<path class="inflight" d="M${x} ${y - 6}h22v12h-22z"/>`],
  ['capacity of the dependency', 220, (x, y) => `<path class="capacity" d="M${x} ${y}h22"/>`],
  ['drops', 82, (x, y) => `<path class="drops" d="M${x + 5} ${y + 6}v-8m6 8v-12m6 12v-5"/>`],
  ['mean latency', 128, (x, y) => `<path class="latency" d="M${x} ${y}h22"/>`],
];
/** @type {typeof MARKS} */
const DEADLINE = [['deadline', 90, (x, y) => `<path class="deadline" d="M${x} ${y}h22"/>`]];

/**
 * @param {number} left
 * @param {number} y The middle of the line.
 * @param {boolean} deadline Whether there is one.
 */
function legend(left, y, deadline) {
  let x = left;
  const parts = [...MARKS, ...(deadline ? DEADLINE : [])].map(([label, width, mark]) => {
    const part = `${mark(x, y)}<text class="muted" x="${x + 29}" y="${y + 4}">${label}</text>`;
    x += width;
    return part;
  });
  return `<g class="legend">${parts.join('')}</g>`;
}

module.exports = { DROP, STYLE, legend };
