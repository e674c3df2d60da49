/** A promise found broken: which one, what a person should read first, and the ids to look at. */
export interface Violation {
  readonly promise: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
  readonly message: string
  readonly ids: readonly string[]
}
