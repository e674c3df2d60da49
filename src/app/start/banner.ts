/** What a newcomer sees on a terminal when the server is ready: where things are, what is on sale, what to mind. A screen at the most. */

import { relative } from 'node:path'
import { printable } from '../../base/printable.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Config } from '../config/config.ts'
import { VERSION } from './version.ts'

const SALES_SHOWN = 3
/** Of a terminal of 80 columns, with a margin. */
const WIDTH = 76
const NAME_MAX = 30

interface Ready {
  readonly url: string
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir' | 'redis' | 'roles'>
  readonly adminTokenPath: string | undefined
  readonly sales: readonly Sale[]
  readonly notes: readonly string[]
  readonly nowMs: number
}

export function banner({ url, config, adminTokenPath, sales, notes, nowMs }: Ready): readonly string[] {
  const upcoming = sales
    .filter(({ state, closesAtMs }) => state !== 'over' && closesAtMs > nowMs)
    .toSorted((a, b) => a.opensAtMs - b.opensAtMs)
  const shown = upcoming.slice(0, SALES_SHOWN).map(sale => saleLine(sale, nowMs))
  if (upcoming.length > SALES_SHOWN) shown.push(`and ${upcoming.length - SALES_SHOWN} more`)
  const isEdge = config.roles.includes('edge')
  const rows: (readonly [string, string])[] = [
    ...(isEdge
      ? ([
          ['Shop', url],
          ['Operators', `${url}/ops`],
          ...(adminTokenPath === undefined
            ? []
            : [['', `the operator token is in ${shortPath(adminTokenPath)}`] as const]),
          ['API', `${url}/docs`],
        ] as const)
      : []),
    [
      'Ledger',
      config.databaseUrl === undefined ? `PostgreSQL, embedded, in ${shortPath(config.dataDir)}` : 'DATABASE_URL',
    ],
    ...(config.redis === undefined ? [] : [['Roles', config.roles.join(', ')] as const]),
    ...(shown.length > 0 ? shown : ['nothing yet: make a sale at /ops']).map(
      (line, i) => [i === 0 ? 'On sale' : '', line] as const,
    ),
  ]
  return [
    '',
    `  Stampede ${VERSION}`,
    '',
    ...rows.map(([name, text]) => `  ${name.padEnd(11)}${text}`),
    '',
    ...notes.flatMap(note => wrapped(note)).map(line => `  ${line}`),
    ...(notes.length > 0 ? [''] : []),
  ]
}

/** In lines that fit. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = []
  for (const part of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + part.length <= WIDTH) lines[lines.length - 1] = `${last} ${part}`
    else lines.push(part)
  }
  return lines
}

function saleLine({ name, opensAtMs, items }: Sale, nowMs: number): string {
  const units = items.reduce((sum, item) => sum + item.units, 0)
  const inSeconds = Math.ceil((opensAtMs - nowMs) / 1_000)
  const when = inSeconds <= 0 ? 'open' : inSeconds < 120 ? `opens in ${inSeconds} s` : `opens ${localTime(opensAtMs)}`
  const shownName = printable(name)
  const cut = shownName.length > NAME_MAX ? `${shownName.slice(0, NAME_MAX)}…` : shownName
  return `${cut}: ${units.toLocaleString('en')} ${units === 1 ? 'unit' : 'units'}, ${when}`
}

/** By the clock and the zone of this machine. */
function localTime(ms: number): string {
  return new Date(ms).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
}

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere !== '' && fromHere.length < path.length ? fromHere : path
}
