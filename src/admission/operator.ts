/**
 * Operators' tokens: who may change sales, and by which name it goes into the log. Both sides are hashed before they are compared, in
 * constant time and against every token, so that neither length nor place nor a first matching byte shows in the time it takes.
 */

import { createHash, timingSafeEqual } from 'node:crypto'

interface Operator {
  readonly name: string
  readonly token: string
}

export interface Operators {
  /** The operator's name. */
  verify(token: string): string | undefined
  /** Of every token that goes by this name: what is bound to one of them ends with the token. */
  hashesOf(name: string): readonly Uint8Array[]
}

/** Longer than any token worth typing; what is longer is not even hashed. */
export const TOKEN_LENGTH_MAX = 1024

/** Why nobody can be known by this name and token; undefined when somebody can. Never shows either. */
export function operatorProblem({ name, token }: Operator): string | undefined {
  if (!/^[\w.@-]{1,64}$/.test(name)) return 'the name must be 1 to 64 letters, digits, ., @, - or _'
  if (token === '' || token.length > TOKEN_LENGTH_MAX) return `the token must have 1 to ${TOKEN_LENGTH_MAX} characters`
  return undefined
}

export function createOperators(operators: readonly Operator[]): Operators {
  const known: { readonly name: string; readonly hash: Buffer }[] = []
  for (const [index, operator] of operators.entries()) {
    const place = `operator ${index + 1}`
    const problem = operatorProblem(operator)
    if (problem !== undefined) throw new Error(`${place}: ${problem}`)
    const hash = hashOfToken(operator.token)
    // One token under two names would make the log lie.
    if (known.some(other => other.hash.equals(hash))) throw new Error(`${place} has the same token as another operator`)
    known.push({ name: operator.name, hash })
  }

  return {
    verify(token) {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const hash = hashOfToken(token)
      let found: string | undefined
      for (const operator of known) {
        if (timingSafeEqual(operator.hash, hash)) found = operator.name
      }
      return found
    },
    hashesOf: name => known.filter(operator => operator.name === name).map(({ hash }) => hash),
  }
}

export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest()
}
