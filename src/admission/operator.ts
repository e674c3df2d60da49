/**
 * Operators' tokens: who may change sales, what each may do, and under which name the journal records it. A token is hashed and compared
 * with every known hash in constant time, so that the time taken shows neither its length, nor its position, nor a first matching byte.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import { OPERATOR_ROLES, type OperatorRole } from '../wire/operator-role.ts'

export interface Operator {
  /** Of one operator only. */
  readonly name: string
  readonly role: OperatorRole
}

interface OperatorToken extends Operator {
  readonly token: string
}

export type Operators = ReturnType<typeof createOperators>

/** A longer token is not even hashed. */
export const TOKEN_LENGTH_MAX = 1024

/** An entry of ADMIN_TOKENS: `name:role:token`. The second part is a role only if it is one: `name:token` is an admin. */
export function readOperator(entry: string): OperatorToken {
  const [first = '', second = '', ...rest] = entry.split(':')
  const name = first.trim()
  const role = OPERATOR_ROLES.find(one => one === second.trim())
  if (role === undefined || rest.length === 0)
    return { name, role: 'admin', token: entry.slice(first.length + 1).trim() }
  return { name, role, token: rest.join(':').trim() }
}

/** Why this name or token is not allowed; undefined if both are. The text never shows either. */
export function operatorProblem({ name, token }: Pick<OperatorToken, 'name' | 'token'>): string | undefined {
  if (!/^[\w.@-]{1,64}$/.test(name)) return 'the name must be 1 to 64 letters, digits, ., @, - or _'
  if (token === '' || token.length > TOKEN_LENGTH_MAX) return `the token must have 1 to ${TOKEN_LENGTH_MAX} characters`
  return undefined
}

export function createOperators(operators: readonly OperatorToken[]) {
  const known: { readonly operator: Operator; readonly hash: Buffer }[] = []
  for (const [index, { name, role, token }] of operators.entries()) {
    const label = `operator ${index + 1}`
    const problem = operatorProblem({ name, token })
    if (problem !== undefined) throw new Error(`${label}: ${problem}`)
    const hash = hashOfToken(token)
    // Either would make the journal ambiguous.
    if (known.some(other => other.hash.equals(hash))) throw new Error(`${label} has the same token as another operator`)
    if (known.some(other => other.operator.name === name))
      throw new Error(`${label} has the same name as another operator`)
    known.push({ operator: { name, role }, hash })
  }

  return {
    verify(token: string): Operator | undefined {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const hash = hashOfToken(token)
      let found: Operator | undefined
      for (const one of known) {
        if (timingSafeEqual(one.hash, hash)) found = one.operator
      }
      return found
    },
    /** With the hash of the token. A session bound to a token ends when its hash is another. */
    named: (name: string) => known.find(({ operator }) => operator.name === name),
  }
}

export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest()
}
