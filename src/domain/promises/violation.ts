/** A broken promise: which one, what happened, and the ids concerned. */
export interface Violation {
  readonly promise: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
  readonly message: string
  readonly ids: readonly string[]
}
