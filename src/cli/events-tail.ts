/**
 * `stampede events tail`: prints events as they come, one JSON text a line. Goes on by itself when the server was away. With a cursor file it goes on
 * where it ended: the cursor is written after the events are handed over, so an event may be printed twice, and none is left out.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ConfigError } from '../app/config/config.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { CloudEvent } from '../wire/events/cloud-event.ts'
import { Client, type ServerOptions, withServer } from './sale/client.ts'

interface TailOptions extends ServerOptions {
  readonly after?: string
  readonly types?: string
  readonly cursorFile?: string
  readonly follow: boolean
}

interface Page {
  readonly events: readonly CloudEvent[]
  readonly next: string
}

const PAGE = 500
const WAIT_S = 20
const AWAY_MS = 1_000
const CURSOR = /^(\d{1,16}|oldest|newest)$/

export function addEvents(program: Command): void {
  const events = program.command('events').description('what has happened, on a running server')
  withServer(
    events
      .command('tail')
      .description('print events as they come, one JSON text a line')
      .option('--after <cursor>', 'behind this event; oldest: all that are kept; newest: only new ones (default)')
      .option('--types <types>', 'only these types, separated by commas')
      .option('--cursor-file <file>', 'keep the cursor there, and go on from it')
      .option('--no-follow', 'end after the last event'),
  ).action(tail)
}

async function tail(options: TailOptions): Promise<void> {
  const client = new Client(options)
  const types = options.types === undefined ? '' : `&types=${encodeURIComponent(options.types)}`
  const { cursorFile } = options
  for (let cursor = startOf(options); ; ) {
    // The newest is asked for without waiting: if a later answer is lost, the cursor is known.
    const wait = options.follow && cursor !== 'newest' ? WAIT_S : 0
    const page = await ask(
      client,
      `/api/admin/events?after=${cursor}&limit=${PAGE}&wait=${wait}${types}`,
      options.follow,
    )
    if (page === undefined) continue
    // A reader that left early (`| head`) has had enough: the cursor stays before what it did not read.
    if (page.events.length > 0 && !(await handOver(page.events))) return
    if (cursorFile !== undefined && page.next !== cursor) keepCursor(cursorFile, page.next)
    const isEnd = page.next === cursor
    cursor = page.next
    if (!options.follow && isEnd) return
  }
}

function startOf({ after, cursorFile }: TailOptions): string {
  const start = (cursorFile === undefined ? undefined : keptCursor(cursorFile)) ?? after ?? 'newest'
  if (!CURSOR.test(start)) throw new ConfigError(`"${start}" is not a cursor: a number, oldest or newest`)
  return start
}

/** Undefined: the server is away, and is asked again after a moment. */
async function ask(client: Client, path: string, follow: boolean): Promise<Page | undefined> {
  try {
    return await client.ask<Page>(path)
  } catch (error) {
    if (!follow || !(error instanceof Fault) || !error.retryable) throw error
    await systemClock.sleep(AWAY_MS)
    return undefined
  }
}

/** False: nothing reads any more. */
function handOver(events: readonly CloudEvent[]): Promise<boolean> {
  const text = events.map(event => `${JSON.stringify(event)}\n`).join('')
  return new Promise(resolve => process.stdout.write(text, error => resolve(error == null)))
}

function keptCursor(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ConfigError(`--cursor-file: ${file} can't be read: ${(error as Error).message}`)
  }
}

function keepCursor(file: string, cursor: string): void {
  writeFileSync(`${file}.new`, `${cursor}\n`)
  renameSync(`${file}.new`, file)
}
