/**
 * The sandbox's payments in one file of JSON lines: a line for every change, the last one counts. Lines are appended in batches, each
 * fsynced before any of its changes resolves or is seen: payments of the same millisecond share one fsync. All rows are in memory too.
 *
 * Guarantees: a payment whose change resolved is there after a crash. A last line without its end was never confirmed, and is dropped; any
 * other unreadable line is a fault, because money must not be forgotten silently. A failed write is cut off before the next one.
 * The file is compacted at `open` and at `forget`: written whole under another name, then renamed.
 *
 * States: open → closed; open → broken when a failed write could not be cut off: every later change is a fault.
 */

import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batching/batcher.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { SandboxRow, SandboxRows } from './payment-repository.ts'
import { isFinal, parsePayment } from './sandbox-payment.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000

type Rows = Map<string, SandboxRow>
type Change =
  | { readonly ref: string; readonly before: string | undefined; readonly row: SandboxRow }
  | { readonly forgetBeforeMs: number }

export class FileStore implements SandboxRows {
  readonly #path: string
  readonly #queue = createBatcher<Change, number>({
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    run: batch => this.#write(batch),
  })
  #rows: Rows
  #file: FileHandle | undefined
  /** Up to here the file is whole lines, all of them on disk. */
  #size = 0
  #broken = false
  #closed = false

  private constructor(path: string, rows: Rows) {
    this.#path = path
    this.#rows = rows
  }

  static async open(path: string, log: Log): Promise<FileStore> {
    await mkdir(dirname(path), { recursive: true })
    const store = new FileStore(path, await readRows(path, log))
    await store.#compact(store.#rows)
    return store
  }

  async read(ref: string): Promise<string | undefined> {
    return this.#rows.get(ref)?.text
  }

  async count(): Promise<number> {
    return this.#rows.size
  }

  async replace(ref: string, before: string | undefined, row: SandboxRow): Promise<boolean> {
    return (await this.#join({ ref, before, row })) === 1
  }

  forget(madeBeforeMs: number): Promise<number> {
    return this.#join({ forgetBeforeMs: madeBeforeMs })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#queue.drained()
    await this.#file?.close()
    this.#file = undefined
  }

  async #join(change: Change): Promise<number> {
    if (this.#closed) throw new Fault('sandbox_store_closed', 'the sandbox is closed', { retryable: true })
    const done = this.#queue.join(change)
    if (done === undefined) throw new Fault('sandbox_store_busy', 'too many payments at once', { retryable: true })
    return done
  }

  /** Each change on the rows as those before it left them. Answers how many rows each has changed. */
  async #write(batch: readonly Change[]): Promise<number[]> {
    try {
      if (this.#broken) throw new Error('an earlier write failed and could not be undone')
      const done: number[] = []
      const changed: Rows = new Map()
      for (const change of batch) {
        if ('row' in change) {
          const { ref, before, row } = change
          const current = (changed.get(ref) ?? this.#rows.get(ref))?.text
          const fits = current === before
          if (fits) changed.set(ref, row)
          done.push(fits ? 1 : 0)
        } else {
          await this.#append(changed)
          changed.clear()
          done.push(await this.#forget(change.forgetBeforeMs))
        }
      }
      await this.#append(changed)
      return done
    } catch (error) {
      if (this.#file === undefined) this.#broken = true
      throw new Fault('sandbox_store_failed', `could not write ${this.#path}`, { outcomeUnknown: true, cause: error })
    }
  }

  async #append(changed: Rows): Promise<void> {
    if (changed.size === 0) return
    const file = this.#file
    assert(file !== undefined, 'the file is not open')
    const bytes = Buffer.from(linesOf(changed), 'utf8')
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
    for (const [ref, row] of changed) this.#rows.set(ref, row)
  }

  async #forget(madeBeforeMs: number): Promise<number> {
    const kept = new Map([...this.#rows].filter(([, row]) => !(row.over && row.madeAtMs < madeBeforeMs)))
    const forgotten = this.#rows.size - kept.size
    if (forgotten > 0) await this.#compact(kept)
    this.#rows = kept
    return forgotten
  }

  /** Leaves one line for each of these rows, and the file open for appending. */
  async #compact(rows: Rows): Promise<void> {
    const path = this.#path
    {
      await using draft = await open(`${path}.new`, 'w', 0o600)
      await draft.writeFile(linesOf(rows))
      await draft.sync()
    }
    await this.#file?.close()
    this.#file = undefined
    await rename(`${path}.new`, path)
    // A rename is on disk only when its folder is.
    await using folder = await open(dirname(path), 'r')
    await folder.sync()
    this.#file = await open(path, 'a', 0o600)
    this.#size = (await this.#file.stat()).size
  }
}

function linesOf(rows: Rows): string {
  return Array.from(rows.values(), row => `${row.text}\n`).join('')
}

async function readRows(path: string, log: Log): Promise<Rows> {
  const text = await readFile(path, 'utf8').catch(error => {
    // The first start.
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const lines = text.split('\n')
  const torn = lines.pop()
  if (torn)
    log.warn(
      { event: 'sandbox_line_torn', path, bytes: torn.length },
      'sandbox store: torn last line dropped, it was never confirmed',
    )
  const rows: Rows = new Map()
  for (const [index, line] of lines.entries()) {
    const payment = parsePayment(line)
    if (payment === undefined)
      throw new Fault('sandbox_store_unreadable', `${path}:${index + 1} is not a payment; repair or remove the file`)
    rows.set(payment.ref, { text: line, madeAtMs: payment.madeAtMs, over: isFinal(payment) })
  }
  return rows
}
