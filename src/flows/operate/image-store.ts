/**
 * Pictures of a shop that has no place for them: an operator uploads one, every process serves it. The name is the hash of the bytes, so what is
 * served under it never changes and may be kept for ever.
 *
 * Bounded: `IMAGE_BYTES_MAX` an image, the ledger's bounds on all of them, `COPIES_BYTES_MAX` in memory, `READS_MAX` at the ledger at a time and
 * `WAITING_MAX` behind them. An image that does not exist is not remembered: it may be uploaded the next moment.
 */

import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { kindOfBytes } from '../../domain/image.ts'
import type { Images } from '../../ledger/images.ts'

type Bytes = Uint8Array<ArrayBuffer>

type AddImageOutcome =
  | { readonly kind: 'kept'; readonly name: string }
  | { readonly kind: 'no_image' }
  | { readonly kind: 'full' }

const COPIES_BYTES_MAX = 32_000_000
const READS_MAX = 2
const WAITING_MAX = 200

export class ImageStore {
  readonly #images: Images
  /** Least recently asked for first. */
  readonly #copies = new Map<string, Bytes>()
  #copiedBytes = 0
  readonly #reads = createSemaphore(READS_MAX)
  readonly #reading = new Map<string, Promise<Bytes | undefined>>()

  constructor({ images }: { readonly images: Images }) {
    this.#images = images
  }

  async add(bytes: Uint8Array, by: string): Promise<AddImageOutcome> {
    const kind = kindOfBytes(bytes)
    if (kind === undefined) return { kind: 'no_image' }
    const name = `${createHash('sha256').update(bytes).digest('hex')}.${kind}`
    return (await this.#images.add(name, bytes, by)) ? { kind: 'kept', name } : { kind: 'full' }
  }

  /** Known without asking the ledger. */
  copy(name: string): Bytes | undefined {
    const bytes = this.#copies.get(name)
    if (bytes === undefined) return undefined
    this.#copies.delete(name)
    this.#copies.set(name, bytes)
    return bytes
  }

  async find(name: string): Promise<Bytes | undefined> {
    const copy = this.copy(name)
    if (copy !== undefined) return copy
    const known = this.#reading.get(name)
    if (known !== undefined) return known
    if (this.#reading.size >= READS_MAX + WAITING_MAX)
      throw new Fault('images_busy', `${this.#reading.size} images are being read already`, { retryable: true })
    const reading = this.#reads
      .run(() => this.#images.find(name))
      .then(bytes => {
        if (bytes !== undefined) this.#keep(name, bytes)
        return bytes
      })
      .finally(() => this.#reading.delete(name))
    this.#reading.set(name, reading)
    return reading
  }

  #keep(name: string, bytes: Bytes): void {
    this.#copies.set(name, bytes)
    this.#copiedBytes += bytes.byteLength
    for (const [oldest, { byteLength }] of this.#copies) {
      if (this.#copiedBytes <= COPIES_BYTES_MAX) return
      this.#copies.delete(oldest)
      this.#copiedBytes -= byteLength
    }
  }
}
