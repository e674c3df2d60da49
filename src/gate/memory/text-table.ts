/**
 * Many texts as small numbers, for far less memory than a Map of strings: their characters lie one after the other in large blocks, and
 * a number stands for each text. It keeps its number for as long as the table lives; none is removed.
 * Grows without a long pause: the hash table is many small ones, each rebuilt at another moment, and nothing large is copied.
 */

import { assert } from '../../base/assert.ts'
import { Column } from './column.ts'

/** A power of two; as many bits of the hash choose the part. */
const PARTS = 64
const PART_BITS = 6
const BLOCK_BYTES = 65_536
const FIRST_BLOCK_BYTES = 256
const NO_TABLE = new Int32Array(0)

export class TextTable {
  /** Per part: at each place a text's number plus one, or 0. */
  readonly #tables: Int32Array[] = Array(PARTS).fill(NO_TABLE)
  readonly #counts = new Uint32Array(PARTS)
  readonly #hashes = new Column(length => new Uint32Array(length))
  readonly #begins = new Column(length => new Float64Array(length))
  /** In characters; negative where a character takes two bytes. */
  readonly #lengths = new Column(length => new Int32Array(length))
  readonly #blocks: Uint8Array[] = []
  #end = 0
  #size = 0

  /** The numbers of its texts are 0 to one less than this. */
  get size(): number {
    return this.#size
  }

  /** Its number, or -1. */
  find(text: string): number {
    const hash = hashOf(text)
    const table = this.#tables[hash % PARTS]!
    if (table.length === 0) return -1
    for (let i = hash >>> PART_BITS; ; i++) {
      const no = table[i & (table.length - 1)]! - 1
      if (no === -1 || (this.#hashes.get(no) === hash && this.#is(no, text))) return no
    }
  }

  /** The number of a text that `find` does not know. */
  add(text: string): number {
    const no = this.#size
    const hash = hashOf(text)
    this.#hashes.set(no, hash)
    this.#write(no, text)
    this.#size += 1
    this.#enter(no, hash)
    return no
  }

  textOf(no: number): string {
    const length = this.#lengths.get(no)
    let text = ''
    for (let i = 0; i < Math.abs(length); i++) text += String.fromCharCode(this.#unitAt(no, length, i))
    return text
  }

  #is(no: number, text: string): boolean {
    const length = this.#lengths.get(no)
    if (Math.abs(length) !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.#unitAt(no, length, i) !== text.charCodeAt(i)) return false
    return true
  }

  #unitAt(no: number, length: number, i: number): number {
    const begin = this.#begins.get(no)
    const block = this.#blocks[Math.floor(begin / BLOCK_BYTES)]!
    const from = begin % BLOCK_BYTES
    return length < 0 ? block[from + 2 * i]! | (block[from + 2 * i + 1]! << 8) : block[from + i]!
  }

  /** A text lies in one block. */
  #write(no: number, text: string): void {
    let wide = false
    for (let i = 0; i < text.length; i++) wide ||= text.charCodeAt(i) > 255
    const bytes = wide ? 2 * text.length : text.length
    assert(bytes <= BLOCK_BYTES, `a text of ${text.length} characters`)
    if (this.#blocks.length === 0 || this.#blocks.length * BLOCK_BYTES - this.#end < bytes) {
      this.#end = this.#blocks.length * BLOCK_BYTES
      this.#blocks.push(new Uint8Array(this.#end === 0 ? FIRST_BLOCK_BYTES : BLOCK_BYTES))
    }
    while (this.#blocks.at(-1)!.length < (this.#end % BLOCK_BYTES) + bytes) this.#growFirst()
    this.#begins.set(no, this.#end)
    this.#lengths.set(no, wide ? -text.length : text.length)
    const block = this.#blocks.at(-1)
    let at = this.#end % BLOCK_BYTES
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      block![at++] = unit
      if (wide) block![at++] = unit >>> 8
    }
    this.#end += bytes
  }

  /** Only the first block begins small. */
  #growFirst(): void {
    const old = this.#blocks[0]!
    const block = new Uint8Array(2 * old.length)
    block.set(old)
    this.#blocks[0] = block
  }

  #enter(no: number, hash: number): void {
    const part = hash % PARTS
    this.#counts[part]! += 1
    let table = this.#tables[part]!
    if (2 * this.#counts[part]! > table.length) {
      const old = table
      table = new Int32Array(Math.max(8, 2 * old.length))
      for (const one of old) if (one !== 0) put(table, one, this.#hashes.get(one - 1))
      this.#tables[part] = table
    }
    put(table, no + 1, hash)
  }
}

/** Open addressing: the first free place from its own on. The table is at most half full. */
function put(table: Int32Array, value: number, hash: number): void {
  let i = hash >>> PART_BITS
  while (table[i & (table.length - 1)] !== 0) i++
  table[i & (table.length - 1)] = value
}

/** FNV-1a over the characters, mixed once more. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
