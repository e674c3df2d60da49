/**
 * `npm run bench -- growth [orders|items|hot]`: what grows with the history, the catalogue and the number of hot items, each figure beside that of
 * the smallest size. `npm run bench -- disturbed`: placing beside heavy reads.
 */

import { InvalidArgumentError } from 'commander'
import { systemClock } from '../../src/base/clock.ts'
import { ensureServers } from '../../test/servers.ts'
import type { SurveyResult } from '../bench-case.ts'
import { conclude } from '../conclude.ts'
import { canPin, pinLoad } from '../cores.ts'
import { disturbed } from './disturbed.ts'
import { growthOverHotItems } from './over-hot-items.ts'
import { growthOverItemsOnSale } from './over-items.ts'
import { type GrowthOptions, growthOverOrders } from './over-orders.ts'

interface Options {
  readonly quick: boolean
  readonly data?: string
  readonly most?: number
  readonly out: string
  readonly json: boolean
}

type Part = (options: GrowthOptions) => Promise<SurveyResult>

const PARTS: Readonly<Record<string, Part>> = {
  orders: growthOverOrders,
  items: growthOverItemsOnSale,
  hot: growthOverHotItems,
}

export function growth(part: string | undefined, options: Options): Promise<number> {
  const chosen = part === undefined ? Object.values(PARTS) : [PARTS[part]]
  if (chosen.includes(undefined))
    throw new InvalidArgumentError(`growth has no part "${part}": it has ${Object.keys(PARTS).join(', ')}`)
  return survey(chosen as Part[], options)
}

export function disturb(options: Options): Promise<number> {
  return survey([disturbed], options)
}

async function survey(parts: readonly Part[], { quick, data, most, out, json }: Options): Promise<number> {
  // For machines, standard output has the report and nothing else.
  const print = json ? (line: string) => console.error(line) : (line: string) => console.log(line)
  ensureServers(['redis-server'], print)
  const [beganMs, at] = [systemClock.elapsed(), new Date(systemClock.now()).toISOString()]
  pinLoad()
  const surveys: SurveyResult[] = []
  for (const part of parts)
    surveys.push(await part({ clock: systemClock, quick, keptIn: data, print, ...(most !== undefined && { most }) }))
  const placement = canPin ? 'servers on core 0, load on core 1' : 'nothing pinned'
  return conclude({ at, beganMs, settings: { placement, quick }, note: '', cases: [], surveys, out, json, print })
}
