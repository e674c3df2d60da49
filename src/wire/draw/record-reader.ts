/**
 * Reads a draw's record in pieces, with its members in any order, into 36 bytes for each join. Bounded: at most five million joins, at most a gibibyte.
 * Members it does not know are skipped. What is missing, twice there or of another form is thrown as a JsonError that names it.
 */

import { fromHex, HASH_BYTES } from '../../domain/draw/draw-bytes.ts'
import type { Beacon } from '../../domain/draw/draw-key.ts'
import type { DrawRecord } from '../../domain/draw/draw-record.ts'
import { JOINS_MAX } from '../../domain/draw/drawn-order.ts'
import { JsonError, type JsonListener, JsonTokens } from './json-tokens.ts'

const BYTES_MAX = 1024 * 1024 * 1024

type Value = string | number | boolean | null
type Members = Map<string, Value>

export class RecordReader implements JsonListener {
  readonly #tokens = new JsonTokens(this)
  readonly #path: string[] = []
  readonly #top: Members = new Map()
  readonly #beacon: Members = new Map()
  readonly #join: Members = new Map()
  readonly #lists = new Set<string>()
  #proofs = new Uint8Array(HASH_BYTES * 1024)
  #order = new Uint32Array(1024)
  #joinCount = 0
  #orderCount = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  write(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > BYTES_MAX) throw new JsonError('it is larger than a gibibyte')
    this.#tokens.write(chunk)
  }

  end(): DrawRecord {
    this.#tokens.end()
    const sealsAtMs = Date.parse(this.#text(this.#top, 'sealsAt'))
    if (!Number.isFinite(sealsAtMs)) throw new JsonError('sealsAt: not a time')
    for (const list of ['joins', 'places']) if (!this.#lists.has(list)) throw new JsonError(`${list}: missing`)
    return {
      algorithm: this.#text(this.#top, 'algorithm'),
      sale: this.#text(this.#top, 'sale'),
      commitment: this.#text(this.#top, 'commitment'),
      root: this.#text(this.#top, 'root'),
      seed: this.#text(this.#top, 'seed'),
      sealsAtMs,
      beacon: this.#lists.has('beacon') ? this.#readBeacon() : undefined,
      proofs: this.#proofs.subarray(0, this.#joinCount * HASH_BYTES),
      order: this.#order.subarray(0, this.#orderCount),
    }
  }

  open(name: string, kind: '{' | '['): void {
    const depth = this.#path.length
    if (depth === 0 && kind !== '{') throw new JsonError('the record is not an object')
    if (depth === 1 && (name === 'joins' || name === 'places' || name === 'beacon')) {
      if (kind !== (name === 'beacon' ? '{' : '[')) throw new JsonError(`${name}: of another form`)
      if (this.#lists.has(name)) throw new JsonError(`${name}: there twice`)
      this.#lists.add(name)
    }
    this.#path.push(name)
    if (this.#isJoin()) this.#join.clear()
  }

  close(): void {
    if (this.#isJoin()) this.#addJoin()
    this.#path.pop()
  }

  value(name: string, value: Value): void {
    const depth = this.#path.length
    if (depth === 1) keep(this.#top, name, value)
    else if (depth === 2 && this.#path[1] === 'beacon') keep(this.#beacon, name, value)
    else if (depth === 2 && this.#path[1] === 'places') this.#addToOrder(value)
    else if (depth === 2 && this.#path[1] === 'joins') throw new JsonError(`join ${this.#joinCount + 1}: not an object`)
    else if (this.#isJoin()) keep(this.#join, name, value)
  }

  #isJoin(): boolean {
    return this.#path.length === 3 && this.#path[1] === 'joins'
  }

  #addJoin(): void {
    const number = this.#joinCount + 1
    if (number > JOINS_MAX) throw new JsonError(`joins: more than ${JOINS_MAX}`)
    const found = this.#join.get('number')
    if (found !== number) throw new JsonError(`join ${number}: number ${found ?? 'missing'} stands there`)
    const proof = fromHex(this.#text(this.#join, 'proof'))
    if (proof === undefined) throw new JsonError(`join ${number}: the proof is not 64 digits of lower-case hex`)
    if (this.#proofs.length < number * HASH_BYTES) {
      const larger = new Uint8Array(this.#proofs.length * 2)
      larger.set(this.#proofs)
      this.#proofs = larger
    }
    this.#proofs.set(proof, this.#joinCount * HASH_BYTES)
    this.#joinCount = number
  }

  #addToOrder(value: Value): void {
    const position = this.#orderCount + 1
    if (position > JOINS_MAX) throw new JsonError(`places: more than ${JOINS_MAX}`)
    if (typeof value !== 'number' || value < 1 || value > JOINS_MAX)
      throw new JsonError(`place ${position}: not the number of a join`)
    if (this.#order.length < position) {
      const larger = new Uint32Array(this.#order.length * 2)
      larger.set(this.#order)
      this.#order = larger
    }
    this.#order[this.#orderCount] = value
    this.#orderCount = position
  }

  #readBeacon(): Beacon {
    const round = this.#beacon.get('round')
    if (round !== undefined && typeof round !== 'number') throw new JsonError('beacon.round: not a number')
    const signature = this.#beacon.has('signature') ? this.#text(this.#beacon, 'signature') : undefined
    return { source: this.#text(this.#beacon, 'source'), round, value: this.#text(this.#beacon, 'value'), signature }
  }

  #text(members: Members, name: string): string {
    const value = members.get(name)
    if (typeof value !== 'string') throw new JsonError(`${name}: ${value === undefined ? 'missing' : 'not a text'}`)
    return value
  }
}

function keep(members: Members, name: string, value: Value): void {
  if (members.has(name)) throw new JsonError(`${name}: there twice`)
  if (members.size > 32) throw new JsonError(`${name}: too many members`)
  members.set(name, value)
}
