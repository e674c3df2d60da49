/**
 * The sandbox's payments in one file of JSON lines: a line for every change, the last one counts. Lines are appended in batches, each
 * fsynced before any of its saves resolves: payments of the same millisecond share one fsync.
 *
 * Guarantees: a payment whose save resolved is there after a crash. A last line without its end was never confirmed, and is dropped; any
 * other unreadable line is a fault, because money must not be forgotten silently. A failed write is cut off before the next one.
 * The file is compacted at `load` and at `forget`: written whole under another name, then renamed.
 *
 * States: new → loaded → closed; loaded → broken when a failed write could not be cut off: every later call is a fault.
 */

import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batcher.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { SandboxStore } from './local-repository.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000

type Entry = { readonly save: SandboxPayment } | { readonly forget: ReadonlySet<string> }

export class FileStore implements SandboxStore {
  readonly #path: string
  readonly #log: Log
  readonly #queue = createBatcher<Entry, undefined>({
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    run: batch => this.#write(batch),
  })
  #file: FileHandle | undefined
  /** Up to here the file is whole lines, all of them on disk. */
  #size = 0
  #broken = false
  #closed = false

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  async load(): Promise<readonly SandboxPayment[]> {
    assert(this.#file === undefined, 'the store is loaded twice')
    await mkdir(dirname(this.#path), { recursive: true })
    return this.#compact(new Set())
  }

  save(payment: SandboxPayment): Promise<void> {
    return this.#join({ save: payment })
  }

  forget(refs: ReadonlySet<string>): Promise<void> {
    return this.#join({ forget: refs })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#queue.drained()
    await this.#file?.close()
    this.#file = undefined
  }

  async #join(entry: Entry): Promise<void> {
    if (this.#closed) throw new Fault('sandbox_store_closed', 'the sandbox is closed', { retryable: true })
    const done = this.#queue.join(entry)
    if (done === undefined) throw new Fault('sandbox_store_busy', 'too many payments at once', { retryable: true })
    await done
  }

  async #write(batch: readonly Entry[]): Promise<undefined[]> {
    try {
      if (this.#broken) throw new Error('an earlier write failed and could not be undone')
      let text = ''
      for (const entry of batch) {
        if ('save' in entry) {
          text += toLine(entry.save)
          continue
        }
        await this.#append(text)
        text = ''
        await this.#compact(entry.forget)
      }
      await this.#append(text)
    } catch (error) {
      if (this.#file === undefined) this.#broken = true
      throw new Fault('sandbox_store_failed', `could not write ${this.#path}`, { outcomeUnknown: true, cause: error })
    }
    return batch.map(() => undefined)
  }

  async #append(text: string): Promise<void> {
    if (text === '') return
    const file = this.#file
    assert(file !== undefined, 'the store is used before it is loaded')
    const bytes = Buffer.from(text, 'utf8')
    try {
      await file.appendFile(bytes)
      await file.datasync()
      this.#size += bytes.length
    } catch (error) {
      // Half a line in the middle would make the whole file unreadable.
      await file.truncate(this.#size).catch(() => {
        this.#broken = true
      })
      throw error
    }
  }

  /** Leaves the last line of each payment except the forgotten ones, and the file open for appending. */
  async #compact(forgotten: ReadonlySet<string>): Promise<SandboxPayment[]> {
    const path = this.#path
    const kept = [...(await this.#read()).values()].filter(payment => !forgotten.has(payment.ref))
    await withHandle(open(`${path}.new`, 'w', 0o600), async draft => {
      await draft.writeFile(kept.map(toLine).join(''))
      await draft.sync()
    })
    await this.#file?.close()
    this.#file = undefined
    await rename(`${path}.new`, path)
    // A rename is on disk only when its folder is.
    await withHandle(open(dirname(path), 'r'), folder => folder.sync())
    this.#file = await open(path, 'a', 0o600)
    this.#size = (await this.#file.stat()).size
    return kept
  }

  async #read(): Promise<Map<string, SandboxPayment>> {
    const path = this.#path
    const text = await readFile(path, 'utf8').catch(error => {
      // The first start. Later, a missing file is a fault.
      if (error.code === 'ENOENT' && this.#file === undefined) return ''
      throw error
    })
    const lines = text.split('\n')
    const torn = lines.pop()
    if (torn)
      this.#log.warn({ path, bytes: torn.length }, 'sandbox store: torn last line dropped, it was never confirmed')
    const kept = new Map<string, SandboxPayment>()
    for (const [index, line] of lines.entries()) {
      const payment = parseLine(line)
      if (payment === undefined)
        throw new Fault('sandbox_store_unreadable', `${path}:${index + 1} is not a payment; repair or remove the file`)
      kept.set(payment.ref, payment)
    }
    return kept
  }
}

function toLine(payment: SandboxPayment): string {
  return `${JSON.stringify(payment)}\n`
}

function parseLine(line: string): SandboxPayment | undefined {
  try {
    return sandboxPaymentSchema.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

async function withHandle(opening: Promise<FileHandle>, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await opening
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}
