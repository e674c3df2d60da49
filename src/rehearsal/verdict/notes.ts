/** What a person should know to read the numbers right, in sentences of their own. */

import { shardsFor } from '../../domain/shards.ts'
import type { Tally } from '../crowd/tally.ts'
import type { RehearsalOptions } from '../rehearsal-options.ts'

/** Where shards change nothing, it is said: nobody should believe to have tried them. */
export function shardsNote({ shards, units, kind }: Pick<RehearsalOptions, 'shards' | 'units' | 'kind'>): string[] {
  if (shards === 1) return []
  if (kind === 'throwaway') return [`${shards} shards change nothing here: one process has one place for all units.`]
  if (shardsFor(units, shards) === 1) return [`${shards} shards change nothing: ${units} units are too few for them.`]
  return [
    `${shards} shards: a cluster spreads the units over as many places; one process has one, whatever is asked for.`,
  ]
}

export function reservedNote({ answers }: Tally): string[] {
  const [reserved = 0, refused = 0] = [answers.get('reserved'), answers.get('reserved_refused')]
  if (reserved === 0) return []
  const outcome = refused === 0 ? 'none of them was refused afterwards' : `${refused} buyers were refused afterwards`
  return [`${reserved} answers were "reserved": ${outcome}.`]
}
