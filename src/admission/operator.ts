/**
 * Operators' tokens: who may change sales, and under which name the journal records it. A token is hashed and compared with every known
 * hash in constant time, so that the time taken shows neither its length, nor its position, nor a first matching byte.
 */

import { createHash, timingSafeEqual } from 'node:crypto'

interface Operator {
  readonly name: string
  readonly token: string
}

export type Operators = ReturnType<typeof createOperators>

/** A longer token is not even hashed. */
export const TOKEN_LENGTH_MAX = 1024

/** Why this name or token is not allowed; undefined if both are. The text never shows either. */
export function operatorProblem({ name, token }: Operator): string | undefined {
  if (!/^[\w.@-]{1,64}$/.test(name)) return 'the name must be 1 to 64 letters, digits, ., @, - or _'
  if (token === '' || token.length > TOKEN_LENGTH_MAX) return `the token must have 1 to ${TOKEN_LENGTH_MAX} characters`
  return undefined
}

export function createOperators(operators: readonly Operator[]) {
  const known: { readonly name: string; readonly hash: Buffer }[] = []
  for (const [index, operator] of operators.entries()) {
    const label = `operator ${index + 1}`
    const problem = operatorProblem(operator)
    if (problem !== undefined) throw new Error(`${label}: ${problem}`)
    const hash = hashOfToken(operator.token)
    // One token under two names would make the journal ambiguous.
    if (known.some(other => other.hash.equals(hash))) throw new Error(`${label} has the same token as another operator`)
    known.push({ name: operator.name, hash })
  }

  return {
    /** The operator's name. */
    verify(token: string): string | undefined {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const hash = hashOfToken(token)
      let found: string | undefined
      for (const operator of known) {
        if (timingSafeEqual(operator.hash, hash)) found = operator.name
      }
      return found
    },
    /** The hashes of all tokens with this name. A session bound to a token ends when its hash is gone. */
    hashesOf: (name: string): readonly Uint8Array[] =>
      known.filter(operator => operator.name === name).map(({ hash }) => hash),
  }
}

export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest()
}
