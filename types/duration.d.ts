/**
 * A length of time: a number of milliseconds, or a number with a unit: `'250ms'`, `'1.5s'`, `'5m'`, `'1h'`,
 * `'2d'`.
 *
 * Lengths beyond 2^31-1 ms (24.8 days) work. Anything else is a `TypeError` or a `RangeError` that names the
 * option, the value and the accepted range.
 */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;
