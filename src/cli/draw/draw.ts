/**
 * `stampede draw verify FILE|URL`: recomputes every place of a draw from its published record. Needs no server, no token and no database. Exit code 0: the
 * record is right. 1: it is not, or could not be read to its end; the first difference is named. 2: asked for in a way that can't work.
 */

import { createReadStream, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { inSlices } from '../../base/slices.ts'
import { DRAND_SOURCE } from '../../domain/draw/drand-rounds.ts'
import { fromHex, HASH_BYTES, toHex } from '../../domain/draw/draw-bytes.ts'
import { checkRecord, type DrawRecord, type JoinReceipt } from '../../domain/draw/draw-record.ts'
import { joinProof } from '../../domain/draw/join-chain.ts'
import { JsonError } from '../../wire/draw/json-tokens.ts'
import { RecordReader } from '../../wire/draw/record-reader.ts'

interface VerifyOptions {
  readonly receipt?: string
  readonly buyer?: string
  readonly json?: boolean
}

/** Between two pieces of an answer. */
const SILENCE_MS_MAX = 30_000
const PROGRESS_MS = 500

export function addDraw(program: Command): void {
  const draw = program.command('draw').description('the draw of a waiting line')
  draw
    .command('verify')
    .description('recompute every place from a published record')
    .argument('<record>', 'a file, or the address of the record: https://…/api/sales/ID/draw')
    .option('--receipt <file>', 'what you were answered when you joined: is your join in the record, unchanged?')
    .option('--buyer <id>', 'with --receipt: is it the join of this buyer?')
    .option('--json', 'print JSON')
    .action(verify)
}

async function verify(from: string, options: VerifyOptions): Promise<void> {
  const receipt = options.receipt === undefined ? undefined : readReceipt(options.receipt)
  if (options.buyer !== undefined && receipt?.salt === undefined)
    throw new ConfigError('--buyer: goes together with --receipt, a file with the salt')
  const progress = createProgress()
  const record = await readRecord(from, bytes => progress.show(`read ${Math.round(bytes / 1e6)} MB`))
  const show = ({ done, total }: { done: number; total: number }) =>
    progress.show(`recomputed ${Math.floor((100 * done) / total)}%`)
  const difference =
    (await inSlices(checkRecord(record, receipt), show)) ??
    (await differenceInBeacon(record)) ??
    foreign(record, receipt, options.buyer)
  progress.end()
  if (difference !== undefined) throw new Fault('draw_differs', `the draw is not what the record says: ${difference}`)
  const joins = record.proofs.length / HASH_BYTES
  const position = receipt === undefined ? undefined : record.order.indexOf(receipt.number) + 1
  const { sale, algorithm, beacon } = record
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ sale, algorithm, joins, beacon: beacon ?? null, place: position })}\n`)
    return
  }
  process.stdout.write(`The draw of sale ${sale} is right: ${joins} joins, every place recomputed.\n`)
  if (position !== undefined)
    process.stdout.write(`Your join, number ${receipt?.number}, is in it unchanged and has place ${position}.\n`)
  process.stdout.write(beaconLine(record))
}

function beaconLine({ beacon }: DrawRecord): string {
  if (beacon === undefined)
    return 'There was no beacon: an operator who knew the seed could have tried out the last joins until the places suited him.\n'
  if (beacon.source === DRAND_SOURCE)
    return `The beacon was round ${beacon.round} of drand (quicknet), published after the seal; its signature is right.\n`
  return `The beacon was "${beacon.value}" of the source "${beacon.source}": compare it with what that source published.\n`
}

/** The curves are loaded where they are needed: no other command waits for them. */
async function differenceInBeacon({ beacon, sealsAtMs }: DrawRecord): Promise<string | undefined> {
  if (beacon?.source !== DRAND_SOURCE) return undefined
  const { beaconDifference } = await import('../../domain/draw/drand-signature.ts')
  return beaconDifference(beacon, sealsAtMs)
}

/** @returns how the receipt's proof is not this buyer's */
function foreign(record: DrawRecord, receipt: Receipt | undefined, buyer: string | undefined): string | undefined {
  if (receipt?.salt === undefined || buyer === undefined) return undefined
  const proof = toHex(joinProof(receipt.salt, record.sale, receipt.number, buyer))
  return proof === receipt.proof ? undefined : `join ${receipt.number}: its proof is not that of buyer "${buyer}"`
}

interface Receipt extends JoinReceipt {
  readonly salt: Uint8Array | undefined
}

function readReceipt(file: string): Receipt {
  try {
    const { number, proof, head, salt } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    if (Number.isSafeInteger(number) && typeof proof === 'string' && typeof head === 'string')
      return { number: number as number, proof, head, salt: typeof salt === 'string' ? fromHex(salt) : undefined }
  } catch (error) {
    throw new ConfigError(`--receipt: ${file} can't be read: ${(error as Error).message}`)
  }
  throw new ConfigError(`--receipt: ${file} has no number, proof and head`)
}

async function readRecord(from: string, onBytes: (bytes: number) => void): Promise<DrawRecord> {
  const reader = new RecordReader()
  try {
    for await (const chunk of /^https?:\/\//.test(from) ? download(from) : fileChunks(from)) {
      reader.write(chunk)
      onBytes(reader.bytes)
    }
    return reader.end()
  } catch (error) {
    if (error instanceof JsonError)
      throw new Fault('draw_differs', `${from} is not the record of a draw: ${error.message}`)
    throw error
  }
}

async function* fileChunks(file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(file)) yield chunk as Uint8Array
  } catch (error) {
    throw new ConfigError(`${file} can't be read: ${(error as Error).message}`)
  }
}

async function* download(url: string): AsyncGenerator<Uint8Array> {
  const hangUp = new AbortController()
  let heardMs = systemClock.elapsed()
  const over = new AbortController()
  void (async () => {
    while (!over.signal.aborted) {
      await systemClock.sleep(1_000, over.signal)
      if (systemClock.elapsed() - heardMs > SILENCE_MS_MAX) hangUp.abort()
    }
  })()
  try {
    const response = await fetch(url, { signal: hangUp.signal })
    if (!response.ok) {
      const { code } = (await response.json().catch(() => ({}))) as { code?: string }
      const what =
        code === 'not_drawn' ? 'it is not drawn yet' : `${response.status}${code === undefined ? '' : ` ${code}`}`
      throw new Fault('draw_missing', `${url} has no record: ${what}`)
    }
    for await (const chunk of response.body ?? []) {
      heardMs = systemClock.elapsed()
      yield chunk as Uint8Array
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('draw_missing', `${url} does not answer, or not to the end: ${(error as Error).message}`)
  } finally {
    over.abort()
  }
}

/** One line on a terminal that is drawn over; nothing elsewhere. */
function createProgress() {
  const out = process.stderr
  let shownMs = systemClock.elapsed()
  let isShown = false
  return {
    show(text: string) {
      if (!out.isTTY || systemClock.elapsed() - shownMs < PROGRESS_MS) return
      shownMs = systemClock.elapsed()
      isShown = true
      out.write(`\r\x1b[2K${text}`)
    },
    end() {
      if (isShown) out.write('\r\x1b[2K')
    },
  }
}
