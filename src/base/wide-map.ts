/**
 * A Map with text keys that grows without a long pause. A Map is rebuilt as a whole whenever it has doubled, and with some hundred thousand
 * entries the process answers nothing meanwhile. This one is many Maps, each rebuilt at another moment. A few characters of a key decide
 * which of them has it; if all keys agree in those it is one ordinary Map. Does not keep the order of its keys.
 */

const PARTS = 64

export class WideMap<Value> {
  readonly #parts: (Map<string, Value> | undefined)[] = new Array(PARTS).fill(undefined)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): Value | undefined {
    return this.#parts[WideMap.partOf(key)]?.get(key)
  }

  has(key: string): boolean {
    return this.#parts[WideMap.partOf(key)]?.has(key) === true
  }

  set(key: string, value: Value): void {
    const no = WideMap.partOf(key)
    let part = this.#parts[no]
    if (part === undefined) {
      part = new Map()
      this.#parts[no] = part
    }
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
  }

  delete(key: string): void {
    if (this.#parts[WideMap.partOf(key)]?.delete(key) === true) this.#size -= 1
  }

  *keys(): Generator<string> {
    for (const part of this.#parts) if (part !== undefined) yield* part.keys()
  }

  /** Which part has it. The last characters of an id differ most; one from the middle helps where those are alike. */
  static partOf(key: string): number {
    const length = key.length
    const last = key.charCodeAt(length - 1)
    const before = key.charCodeAt(length - 2)
    const middle = key.charCodeAt(length >> 1)
    // Where there is no such character it is NaN, which counts as 0 here.
    return (last ^ (before << 2) ^ (middle << 4)) & (PARTS - 1)
  }
}
