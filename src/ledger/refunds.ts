/** Refunds on their way, for whoever watches over them. */

export interface Refunds {
  /** How many were tried more than `tries` times and are still not through. */
  waiting(tries: number): Promise<number>
}
