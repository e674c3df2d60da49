/** Bugs stop here. Assertions stay on in production: a wrong state is worth a crash, never a wrong sale. */

/** An assertion that failed: a bug in Stampede, not an outcome and not a fault. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message)
}

/** One answer for each ask. */
export function assertAnswered(who: string, asks: readonly unknown[], answers: readonly unknown[]): void {
  assert(answers.length === asks.length, `${who} gave ${answers.length} answers to ${asks.length} asks`)
}

/** The end of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new Bug(`not handled: ${JSON.stringify(value)}`)
}
