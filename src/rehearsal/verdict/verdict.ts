/**
 * The verdict: the promises, checked over everything that was told and written, and what a rehearsal requires beyond them: every buyer was
 * answered, with answers that the API defines, and every wanted unit was sold. A promise without facts is not judged. Pure.
 */

import { checkPromises } from '../../domain/promises/check.ts'
import type { Violation } from '../../domain/promises/snapshot.ts'
import type { Facts } from './facts.ts'

interface Evidence {
  readonly units: number
  readonly buyers: Readonly<Record<'all' | 'answered' | 'withOrder' | 'refused' | 'unanswered', number>>
  readonly facts: Facts | undefined
  readonly unexpected: Readonly<Record<string, number>>
  readonly partial: string | null
  readonly p99: number
  readonly lastAnswerMs: number
  /** Why the part that was to be killed was not: then nothing is proved. */
  readonly missed: string | null
}

const PROMISES: readonly (readonly [Violation['promise'], string])[] = [
  [1, 'No oversell'],
  [2, 'Nothing lost'],
  [3, 'No undersell'],
  [4, 'One live order per buyer'],
  [5, 'First come, first served'],
  [6, 'Paid or released, never both'],
  [8, 'Everything is bounded'],
]
const NAMED_MAX = 5
const NO_FACTS = 'the sale’s audit and orders could not be read'

export function judge(evidence: Evidence) {
  const { facts } = evidence
  const violations = facts === undefined ? [] : checkPromises(facts.snapshot)
  const reasons = reasonsOf(evidence, violations)
  const promises = PROMISES.map(([no, name]) => ({
    no,
    name,
    /** A violation that was found counts, also where the facts can't show the promise kept. */
    broken: violations.filter(violation => violation.promise === no).length,
    notJudged: facts === undefined ? NO_FACTS : (facts.notJudged.get(no) ?? null),
  }))
  const verdict: 'green' | 'red' = reasons.length === 0 ? 'green' : 'red'
  return { verdict, reasons, promises, sentence: sentenceOf(evidence, reasons) }
}

/** Everything that is wrong; empty when the rehearsal is green. */
function reasonsOf(evidence: Evidence, violations: readonly Violation[]): string[] {
  const { units, buyers, facts, partial } = evidence
  const reasons: string[] = []
  if (partial !== null) reasons.push(partial)
  if (evidence.missed !== null) reasons.push(`no part was killed: ${evidence.missed}`)
  for (const [promise, found] of Map.groupBy(violations, violation => violation.promise)) {
    const more = found.length > NAMED_MAX ? ` (and ${whole(found.length - NAMED_MAX)} more)` : ''
    const messages = found.slice(0, NAMED_MAX).map(violation => violation.message)
    reasons.push(`promise ${promise} is broken: ${messages.join('; ')}${more}`)
  }
  for (const [what, count] of Object.entries(evidence.unexpected))
    reasons.push(`${whole(count)} answers that no buyer should get: ${what}`)
  if (facts === undefined) reasons.push(NO_FACTS)
  if (partial !== null) return reasons
  if (buyers.unanswered > 0) reasons.push(`${whole(buyers.unanswered)} buyers have no final answer`)
  if (facts === undefined) return reasons
  if (!facts.audit.consistent) reasons.push('the server’s own audit does not add up')
  const sold = soldOf(facts)
  // A buyer who cancelled wants no unit any more. A refused buyer still does: the refusal is a closed row, but not a wish.
  const wanted = Math.min(units, buyers.all - (facts.audit.closed - refusedUnits(facts)))
  if (sold < wanted) reasons.push(`sold ${whole(sold)} of ${whole(units)}, though ${whole(buyers.all)} wanted one`)
  return reasons
}

/** The result in one line. Promises that were not judged are named in it. */
function sentenceOf({ facts, units, buyers, p99, lastAnswerMs }: Evidence, reasons: readonly string[]): string {
  const sold =
    facts === undefined ? 'how much was sold is not known' : `sold ${whole(soldOf(facts))} of ${whole(units)}`
  if (reasons.length > 0) return `${sold}; ${reasons[0]}`
  const answered = `everyone answered within ${(lastAnswerMs / 1000).toFixed(2)} s`
  const unanswered = `${whole(buyers.unanswered)} without an answer`
  const notJudged = PROMISES.filter(([no]) => facts?.notJudged.has(no)).map(([, name]) => `"${name}"`)
  return [
    sold,
    'no oversell',
    'nothing lost',
    `p99 ${showMs(p99)}`,
    buyers.unanswered === 0 ? answered : unanswered,
    ...(notJudged.length === 0 ? [] : [`not judged: ${notJudged.join(' and ')}`]),
  ].join(', ')
}

function soldOf({ audit }: Facts): number {
  return audit.pending + audit.paid
}

function refusedUnits({ orders }: Facts): number {
  return orders.reduce((sum, order) => sum + (order.reason === 'refused' ? order.quantity : 0), 0)
}

export function whole(value: number): string {
  return value.toLocaleString('en-GB')
}

/** Milliseconds, or seconds from ten on. */
export function showMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 10_000 ? `${whole(Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`
}
