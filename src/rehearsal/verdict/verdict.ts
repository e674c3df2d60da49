/**
 * The verdict: the promises over everything that was told and written, and what a rehearsal asks beyond them: everybody was answered,
 * with answers the API knows, and every unit that somebody wanted was sold. A promise that the facts are silent about is not judged. Pure.
 */

import { checkPromises } from '../../domain/promises/check.ts'
import type { Violation } from '../../domain/promises/violation.ts'
import type { Rehearsal } from '../result.ts'
import type { Books } from './facts.ts'

interface Evidence {
  readonly units: number
  readonly buyers: Rehearsal['buyers']
  readonly books: Books | undefined
  readonly unexpected: Rehearsal['unexpected']
  readonly partial: string | null
  readonly p99: number
  readonly lastAnswerMs: number
  /** Why a part that was to be killed was not: then nothing is proved. */
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

export function judge(evidence: Evidence): Pick<Rehearsal, 'verdict' | 'sentence' | 'reasons' | 'promises'> {
  const { units, buyers, books, partial } = evidence
  const violations = books === undefined ? [] : checkPromises(books.snapshot)
  const reasons: string[] = []
  if (partial !== null) reasons.push(partial)
  if (evidence.missed !== null) reasons.push(`no part was killed: ${evidence.missed}`)
  for (const [promise, found] of Map.groupBy(violations, violation => violation.promise)) {
    const more = found.length > NAMED_MAX ? ` (and ${(found.length - NAMED_MAX).toLocaleString('en-GB')} more)` : ''
    const words = found.slice(0, NAMED_MAX).map(violation => violation.message)
    reasons.push(`promise ${promise} is broken: ${words.join('; ')}${more}`)
  }
  for (const [what, count] of Object.entries(evidence.unexpected))
    reasons.push(`${whole(count)} answers that no buyer should get: ${what}`)
  if (books === undefined) reasons.push('the books could not be read')
  if (partial === null && buyers.unanswered > 0) reasons.push(`${whole(buyers.unanswered)} buyers have no final answer`)
  if (books !== undefined && partial === null) {
    if (!books.audit.consistent) reasons.push('the server’s own audit does not add up')
    const sold = books.audit.pending + books.audit.paid
    // Who gave an order back wants none any more. Who was refused still does: a refusal is a closed row, but nobody's wish.
    const wanted = Math.min(units, buyers.all - (books.audit.closed - refusedUnits(books)))
    if (sold < wanted) reasons.push(`sold ${whole(sold)} of ${whole(units)}, though ${whole(buyers.all)} wanted one`)
  }
  const verdict = reasons.length === 0 ? 'green' : 'red'
  const promises = PROMISES.map(([no, name]) => ({
    no,
    name,
    broken: violations.filter(violation => violation.promise === no).length,
    notJudged: books === undefined ? 'the books could not be read' : (books.notJudged.get(no) ?? null),
  }))
  return { verdict, reasons, promises, sentence: sentenceOf(evidence, verdict, violations, reasons) }
}

function refusedUnits({ orders }: Books): number {
  return orders.reduce((sum, order) => sum + (order.reason === 'refused' ? order.quantity : 0), 0)
}

function sentenceOf(
  evidence: Evidence,
  verdict: string,
  violations: readonly Violation[],
  reasons: readonly string[],
): string {
  const { books, units, buyers } = evidence
  const sold = books === undefined ? undefined : books.audit.pending + books.audit.paid
  const parts = [sold === undefined ? 'how much was sold is not known' : `sold ${whole(sold)} of ${whole(units)}`]
  if (verdict === 'red') return [...parts, reasons[0]].join('; ')
  const broken = (no: number) => violations.some(violation => violation.promise === no)
  parts.push(broken(1) ? 'OVERSOLD' : 'no oversell', broken(2) ? 'ORDERS LOST' : 'nothing lost')
  parts.push(`p99 ${showMs(evidence.p99)}`)
  parts.push(
    buyers.unanswered === 0
      ? `everyone answered within ${(evidence.lastAnswerMs / 1000).toFixed(2)} s`
      : `${whole(buyers.unanswered)} without an answer`,
  )
  // Green is what was looked at; what was not is said in the same breath.
  const notJudged = PROMISES.filter(([no]) => books?.notJudged.has(no)).map(([, name]) => `"${name}"`)
  if (notJudged.length > 0) parts.push(`not judged: ${notJudged.join(' and ')}`)
  return parts.join(', ')
}

function whole(value: number): string {
  return value.toLocaleString('en-GB')
}

/** Milliseconds as a person reads them. */
export function showMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 10_000 ? `${Math.round(ms).toLocaleString('en-GB')} ms` : `${(ms / 1000).toFixed(1)} s`
}
