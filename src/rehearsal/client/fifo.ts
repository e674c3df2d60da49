/** First in, first out. Taking from the front does not move the rest, so it costs the same at any length. */

const SHRINK_AT = 4_096

export class Fifo<T> {
  #items: (T | undefined)[] = []
  #from = 0

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.#from >= this.#items.length) return undefined
    const item = this.#items[this.#from]
    this.#items[this.#from] = undefined
    this.#from += 1
    if (this.#from >= SHRINK_AT && this.#from * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#from)
      this.#from = 0
    }
    return item
  }

  /** Linear in the length; rarely needed. */
  remove(item: T): void {
    const at = this.#items.indexOf(item, this.#from)
    if (at >= 0) this.#items.splice(at, 1)
  }
}
