/** What the waiting line of a sale asks of its buyer now. Pure: the same facts, the same step. */

/** As the server answered it, or heard on the live connection. */
interface Standing {
  readonly state: 'waiting' | 'admitted' | 'missed' | 'done'
  readonly claimBy?: string | undefined
}

/**
 * line_before   the line is not open yet
 * join          the buyer is not in it
 * in_line       the buyer waits
 * missed        the time to claim is over: the buyer may join again
 * let_in        what is pressed now is ordered
 * loading       not known yet
 */
export type LineStep = 'line_before' | 'join' | 'in_line' | 'missed' | 'let_in' | 'loading'

/** @param own `none`: not in line; undefined: not known */
export function lineStep(lineOpensAt: string, own: Standing | 'none' | undefined, nowMs: number): LineStep {
  if (nowMs < Date.parse(lineOpensAt)) return 'line_before'
  if (own === undefined) return 'loading'
  if (own === 'none') return 'join'
  if (own.state === 'waiting') return 'in_line'
  if (own.state !== 'admitted') return own.state === 'missed' ? 'missed' : 'loading'
  return own.claimBy !== undefined && nowMs >= Date.parse(own.claimBy) ? 'missed' : 'let_in'
}
