/**
 * Which units should move from one shard of an item to another next. Pure: from what each shard has and what is wanted there it plans one
 * move, or none; after that move it is asked again.
 *
 * A shard waits if it has fewer units than a buyer asked it for just now. It is given up to an even share of all there are, at least what
 * is wanted if there is that much, from the shard that can spare most. What a shard was asked for lately and has, it keeps. When only shards
 * that wait have anything to give, the one that lacks least is filled from those that lack most, if together they have enough: otherwise each
 * would keep too few for its own buyers, for ever. A wish for more than there is in all counts as a wish for an even share: it can't be met, and others can.
 * Guarantees: never more than the giving shard has; repeated, it ends; it never undoes its own last step.
 */

import type { ShardStatus } from '../gate.ts'

type Stock = Pick<ShardStatus, 'left' | 'wants'>

/** `from` and `to` are positions in the list. */
export function planMove(shards: readonly Stock[]): { from: number; to: number; units: number } | undefined {
  const total = shards.reduce((sum, { left }) => sum + left, 0)
  const share = Math.floor(total / shards.length)
  const standings = shards.map(({ left, wants }, at) => {
    const possible = wants <= total ? wants : Math.max(1, share)
    // What is missing; at most 0: it does not wait.
    return { at, left, wants: possible, lacks: possible - left }
  })
  const waiting = standings.filter(({ lacks }) => lacks > 0)
  const to = least(waiting, ({ lacks }) => lacks)
  if (to === undefined) return undefined

  // It lacks less than nothing: what it can spare.
  const giver = least(standings, ({ lacks }) => lacks)
  if (giver !== undefined && giver.lacks < 0) {
    const units = Math.min(-giver.lacks, Math.max(share, to.wants) - to.left)
    return { from: giver.at, to: to.at, units }
  }
  if (waiting.reduce((sum, { left }) => sum + left, 0) < to.wants) return undefined
  const loser = least(
    waiting.filter(({ at, left }) => at !== to.at && left > 0),
    ({ lacks }) => -lacks,
  )
  return loser && { from: loser.at, to: to.at, units: Math.min(loser.left, to.lacks) }
}

/** The first of those with the lowest figure. */
function least<T>(all: readonly T[], figure: (one: T) => number): T | undefined {
  let found: T | undefined
  for (const one of all) if (found === undefined || figure(one) < figure(found)) found = one
  return found
}
