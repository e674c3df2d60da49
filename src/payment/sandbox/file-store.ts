/**
 * The sandbox's payments in one file of JSON lines, a line for every move, the last one counts. Appended in batches, each on disk
 * (fsync) before any of its saves is answered: a crowd that pays in the same millisecond shares one.
 *
 * Guarantees: what was answered is there after a crash. A last line without its end was never answered, and is dropped; anything else
 * that can't be read is a fault, for money is not forgotten quietly. A write that fails is cut off again before the next one.
 * The file is compacted when it is loaded and when payments are forgotten: written whole under another name, then renamed.
 */

import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { assert } from '../../base/assert.ts'
import { createBatcher } from '../../base/batcher.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'
import type { SandboxStore } from './sandbox-store.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000

type Entry = { readonly save: SandboxPayment } | { readonly forget: ReadonlySet<string> }

export function createFileStore(path: string, log: Log): SandboxStore {
  let file: FileHandle | undefined
  /** Up to here the file is whole lines, all of them on disk. */
  let size = 0
  let broken = false
  let closed = false

  async function readKept(): Promise<Map<string, SandboxPayment>> {
    const text = await readFile(path, 'utf8').catch(error => {
      // The first start. Later on, a file that is gone is a fault.
      if (error.code === 'ENOENT' && file === undefined) return ''
      throw error
    })
    const lines = text.split('\n')
    const torn = lines.pop()
    if (torn)
      log.warn({ path, bytes: torn.length }, 'the last line of the sandbox payments is torn; it was never answered')
    const kept = new Map<string, SandboxPayment>()
    lines.forEach((line, index) => {
      const payment = parseLine(line)
      if (payment === undefined)
        throw new Fault('sandbox_store_unreadable', `${path}:${index + 1} is not a payment; mend or remove the file`)
      kept.set(payment.ref, payment)
    })
    return kept
  }

  /** Leaves the last line of each payment but the forgotten ones, and the file open for appending. */
  async function compact(forgotten: ReadonlySet<string>): Promise<SandboxPayment[]> {
    const kept = [...(await readKept()).values()].filter(payment => !forgotten.has(payment.ref))
    const draft = await open(`${path}.new`, 'w', 0o600)
    try {
      await draft.writeFile(kept.map(toLine).join(''))
      await draft.sync()
    } finally {
      await draft.close()
    }
    await file?.close()
    file = undefined
    await rename(`${path}.new`, path)
    await syncFolder(dirname(path))
    file = await open(path, 'a', 0o600)
    size = (await file.stat()).size
    return kept
  }

  async function append(text: string): Promise<void> {
    if (text === '') return
    assert(file !== undefined, 'the store is used before it is loaded')
    const bytes = Buffer.from(text, 'utf8')
    try {
      await file.appendFile(bytes)
      await file.datasync()
      size += bytes.length
    } catch (error) {
      // Half a line in the middle would make the whole file unreadable.
      await file.truncate(size).catch(() => {
        broken = true
      })
      throw error
    }
  }

  const line = createBatcher<Entry, undefined>({
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    async run(batch) {
      try {
        if (broken) throw new Error('an earlier write failed and could not be undone')
        let text = ''
        for (const entry of batch) {
          if ('save' in entry) {
            text += toLine(entry.save)
            continue
          }
          await append(text)
          text = ''
          await compact(entry.forget)
        }
        await append(text)
      } catch (error) {
        if (file === undefined) broken = true
        throw new Fault('sandbox_store_failed', `could not write ${path}`, { outcomeUnknown: true, cause: error })
      }
      return batch.map(() => undefined)
    },
  })

  async function join(entry: Entry): Promise<void> {
    if (closed) throw new Fault('sandbox_store_closed', 'the sandbox is closed', { retryable: true })
    const done = line.join(entry)
    if (done === undefined) throw new Fault('sandbox_store_busy', 'too many payments at once', { retryable: true })
    await done
  }

  return {
    async load() {
      assert(file === undefined, 'the store is loaded twice')
      await mkdir(dirname(path), { recursive: true })
      return compact(new Set())
    },
    save: payment => join({ save: payment }),
    forget: refs => join({ forget: refs }),
    async close() {
      closed = true
      await line.drained()
      await file?.close()
      file = undefined
    },
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

/** A rename is on disk only when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
