/**
 * The records of draws as files of this process: each is written once, when it is first asked for, and sent from there. The bytes follow from the ledger's rows
 * alone, so every process sends the same ones under the same ETag. Bounded: one file is written at a time, few are kept, and few are sent at once.
 */

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Fault } from '../../base/fault.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { toHex } from '../../domain/draw/draw-bytes.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { LineDraw, LineDraws } from '../../ledger/line-draws.ts'
import type { Lines } from '../../ledger/lines.ts'
import { recordText } from '../../wire/draw/record-text.ts'
import { orderOf } from './follow-draws.ts'

interface DrawFilesContext {
  readonly draws: Pick<LineDraws, 'find'>
  readonly lines: Pick<Lines, 'joinsAfter'>
  /** Made when it is needed. */
  readonly folder: string
}

interface DrawFile {
  readonly path: string
  readonly etag: string
}

const JOINS_PER_READ = 5_000
const FILES_MAX = 50
const SENT_AT_ONCE_MAX = 64
const CHUNK_BYTES = 256 * 1024

export class DrawFiles {
  readonly #context: DrawFilesContext
  readonly #files = new Map<SaleId, Promise<DrawFile>>()
  readonly #oneAtATime = createSemaphore(1)
  #cleaned: Promise<void> | undefined
  #sending = 0

  constructor(context: DrawFilesContext) {
    this.#context = context
  }

  /** Undefined: it is not drawn. */
  async of(sale: SaleId): Promise<DrawFile | undefined> {
    const known = this.#files.get(sale)
    if (known !== undefined) return known
    const [draw] = await this.#context.draws.find([sale])
    if (draw?.drawn === undefined) return undefined
    let file = this.#files.get(sale)
    if (file === undefined) {
      file = this.#oneAtATime.run(() => this.#write(draw))
      this.#files.set(sale, file)
      // The next who asks tries again.
      file.catch(() => this.#files.delete(sale))
    }
    return file
  }

  /** Undefined: too many are being sent. */
  async open({ path }: DrawFile): Promise<ReadableStream<Uint8Array> | undefined> {
    if (this.#sending >= SENT_AT_ONCE_MAX) return undefined
    this.#sending += 1
    const file = await open(path).catch((cause: unknown) => {
      this.#sending -= 1
      this.#files.clear()
      throw new Fault('draw_file', 'the record of a draw is gone from the disk', { retryable: true, cause })
    })
    const end = async () => {
      this.#sending -= 1
      await file.close()
    }
    return new ReadableStream({
      async pull(controller) {
        const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES)
        if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead))
        controller.close()
        await end()
      },
      cancel: end,
    })
  }

  async #write(draw: LineDraw): Promise<DrawFile> {
    const { folder, lines } = this.#context
    const { sale, sealed, drawn, algorithm, commitment, sealsAtMs, beacon } = draw
    const top = {
      algorithm,
      sale,
      commitment: toHex(commitment),
      root: toHex(sealed!.root),
      seed: toHex(drawn!.seed),
      sealsAtMs,
      beacon,
    }
    const path = join(folder, `draw-${sale}.json`)
    async function* pages() {
      for (let after = 0; after < sealed!.joins; ) {
        const joins = await lines.joinsAfter(sale, after, Math.min(JOINS_PER_READ, sealed!.joins - after))
        if (joins.length === 0) throw new Fault('draw_file', `joins of sale ${sale} are missing in the ledger`)
        yield joins.map(({ proof, leftNo }) => ({ proof, left: leftNo !== undefined && leftNo <= sealed!.leaves }))
        after += joins.length
      }
    }
    const hash = createHash('sha256')
    async function* hashed() {
      for await (const text of recordText(top, pages(), await orderOf(draw))) {
        hash.update(text)
        yield text
      }
    }
    try {
      this.#cleaned ??= this.#clean()
      await this.#cleaned
      await this.#makeRoom()
      await pipeline(hashed, createWriteStream(`${path}.new`))
      await rename(`${path}.new`, path)
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault('draw_file', `the record of a draw can't be written: ${(cause as Error).message}`, {
        retryable: true,
        cause,
      })
    }
    return { path, etag: `"${hash.digest('base64url').slice(0, 22)}"` }
  }

  /** Files of a process before this one: their ETags are not known. */
  async #clean(): Promise<void> {
    await mkdir(this.#context.folder, { recursive: true })
    for (const name of await readdir(this.#context.folder))
      if (/^draw-\d+\.json(\.new)?$/.test(name)) await rm(join(this.#context.folder, name), { force: true })
  }

  async #makeRoom(): Promise<void> {
    for (const [sale, file] of this.#files) {
      if (this.#files.size <= FILES_MAX) return
      this.#files.delete(sale)
      const written = await file.catch(() => undefined)
      if (written !== undefined) await rm(written.path, { force: true })
    }
  }
}
