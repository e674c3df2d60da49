/** A list of numbers that grows in chunks, so that nothing large is ever copied; a short one is small. What was not set is 0. */

const CHUNK = 4_096
const FIRST = 16

type Numbers = Float64Array | Int32Array | Uint32Array | Uint8Array

export class Column {
  readonly #chunks: Numbers[] = []
  readonly #make: (length: number) => Numbers

  constructor(make: (length: number) => Numbers) {
    this.#make = make
  }

  get(no: number): number {
    return this.#chunks[Math.floor(no / CHUNK)]?.[no % CHUNK] ?? 0
  }

  set(no: number, value: number): void {
    const at = Math.floor(no / CHUNK)
    while (this.#chunks.length < at) this.#chunks.push(this.#make(CHUNK))
    let chunk = this.#chunks[at]
    if (chunk === undefined || chunk.length <= no % CHUNK) chunk = this.#grow(at, no % CHUNK)
    chunk[no % CHUNK] = value
  }

  /** Only the first chunk begins small. */
  #grow(at: number, place: number): Numbers {
    const old = this.#chunks[at]
    let length = at === 0 ? Math.max(FIRST, 2 * (old?.length ?? 0)) : CHUNK
    while (length <= place) length *= 2
    const chunk = this.#make(length)
    if (old !== undefined) chunk.set(old)
    this.#chunks[at] = chunk
    return chunk
  }
}
