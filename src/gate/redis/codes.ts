/** Decodes the scripts' numbers and letters, written by `lib.lua` and `reserve.lua`. */

import { assert } from '../../base/assert.ts'
import type { AskCode } from '../gate.ts'

const STATUSES = ['done', 'stale', 'ok', 'early', 'over', 'paused', 'busy', 'gap', 'past', 'held'] as const

type ScriptStatus = (typeof STATUSES)[number]

const ASK_CODES: Readonly<Record<string, AskCode>> = {
  r: 'reserved',
  s: 'same',
  c: 'same_closed',
  n: 'not_enough',
  a: 'attempts_used',
  f: 'id_conflict',
  x: 'not_now',
}

export function statusOf(reply: unknown): ScriptStatus {
  const status = typeof reply === 'number' ? STATUSES[reply] : undefined
  assert(status !== undefined, `a script answered ${String(reply)}`)
  return status
}

export function askCodeOf(letter: string): AskCode {
  const code = ASK_CODES[letter]
  assert(code !== undefined, `a script gave an ask the code "${letter}"`)
  return code
}

/** An array reply, as a list to read from. */
export function listOf(reply: unknown): readonly unknown[] {
  assert(Array.isArray(reply), `a script answered ${String(reply)} instead of a list`)
  return reply
}

export function wholeOf(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value
  assert(Number.isSafeInteger(number), `a script answered ${String(value)} instead of a whole number`)
  return number as number
}

export function textOf(value: unknown): string {
  assert(typeof value === 'string', `a script answered ${String(value)} instead of a text`)
  return value
}
