/** `true` only if the two types are identical, `any` and `unknown` included. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if `A` and `B` are identical. */
export declare function equal<A, B>(identical: Equal<A, B>): void;
