/**
 * JSON read in pieces, for documents too large to hold: values are handed over as they come, and nothing is kept. Checks the grammar. Strings are at most
 * 4096 bytes, nesting at most eight deep; of numbers, only whole ones from 0 to 2^53 - 1 are taken. What is wrong is thrown with its byte.
 */

export interface JsonListener {
  /** An object or array begins under this name: in an array, under the array's own. */
  open(name: string, kind: '{' | '['): void
  close(kind: '{' | '['): void
  value(name: string, value: string | number | boolean | null): void
}

export class JsonError extends Error {}

const STRING_MAX = 4096
const DEPTH_MAX = 8
const WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** What may come next. `first` is a value, or the end of an array that has just begun; `name?` the same for an object. */
type Expected = 'value' | 'first' | 'name' | 'name?' | ':' | 'next' | 'end'

export class JsonTokens {
  readonly #listener: JsonListener
  readonly #levels: { readonly kind: '{' | '['; readonly name: string }[] = []
  readonly #bytes = new Uint8Array(STRING_MAX)
  #length = 0
  #in: 'string' | 'escape' | 'word' | undefined
  #escaped = false
  #expected: Expected = 'value'
  #name = ''
  #read = 0

  constructor(listener: JsonListener) {
    this.#listener = listener
  }

  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at++) {
      this.#read += 1
      this.#byte(chunk[at]!)
    }
  }

  end(): void {
    if (this.#in === 'word') this.#word()
    if (this.#expected !== 'end') this.#refuse('it ends too early')
  }

  #byte(byte: number): void {
    if (this.#in === 'word') {
      if (isWordByte(byte)) this.#keep(byte)
      else {
        this.#word()
        this.#sign(byte)
      }
    } else if (this.#in === undefined) this.#sign(byte)
    else if (this.#in === 'string' && byte === 0x22) this.#string()
    else {
      this.#in = this.#in === 'string' && byte === 0x5c ? 'escape' : 'string'
      if (this.#in === 'escape') this.#escaped = true
      this.#keep(byte)
    }
  }

  /** A byte outside of texts and words. */
  #sign(byte: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return
    if (byte === 0x22) {
      this.#length = 0
      this.#escaped = false
      this.#in = 'string'
    } else if (byte === 0x7b) this.#open('{')
    else if (byte === 0x5b) this.#open('[')
    else if (byte === 0x7d) this.#close('{')
    else if (byte === 0x5d) this.#close('[')
    else if (byte === 0x2c) this.#comma()
    else if (byte === 0x3a) this.#move(':', 'value')
    else if (isWordByte(byte)) {
      this.#length = 0
      this.#in = 'word'
      this.#keep(byte)
    } else this.#refuse('this is not JSON')
  }

  #keep(byte: number): void {
    if (this.#length === STRING_MAX) this.#refuse(`a text is longer than ${STRING_MAX} bytes`)
    this.#bytes[this.#length++] = byte
  }

  #string(): void {
    this.#in = undefined
    const text = this.#text()
    if (this.#expected === 'name' || this.#expected === 'name?') {
      this.#name = text
      this.#expected = ':'
    } else this.#value(text)
  }

  #word(): void {
    this.#in = undefined
    const text = Buffer.from(this.#bytes.buffer, 0, this.#length).toString('latin1')
    const known = WORDS.get(text)
    const value = known === undefined ? Number(text) : known
    if (known === undefined && !(/^(0|[1-9][0-9]*)$/.test(text) && Number.isSafeInteger(value)))
      this.#refuse(`"${text.slice(0, 40)}" is not a whole number`)
    this.#value(value)
  }

  #text(): string {
    const raw = Buffer.from(this.#bytes.buffer, 0, this.#length).toString('utf8')
    if (!this.#escaped) return raw
    try {
      return JSON.parse(`"${raw}"`) as string
    } catch {
      return this.#refuse('a text is not JSON')
    }
  }

  #value(value: string | number | boolean | null): void {
    this.#beforeValue()
    this.#listener.value(this.#name, value)
    this.#afterValue()
  }

  #open(kind: '{' | '['): void {
    this.#beforeValue()
    if (this.#levels.length === DEPTH_MAX) this.#refuse(`it is nested more than ${DEPTH_MAX} deep`)
    this.#levels.push({ kind, name: this.#name })
    this.#listener.open(this.#name, kind)
    this.#expected = kind === '{' ? 'name?' : 'first'
  }

  #close(kind: '{' | '['): void {
    const level = this.#levels.pop()
    const mayEnd = this.#expected === 'next' || this.#expected === (kind === '{' ? 'name?' : 'first')
    if (level?.kind !== kind || !mayEnd) this.#refuse('a bracket is in the wrong place')
    this.#listener.close(kind)
    this.#name = level!.name
    this.#afterValue()
  }

  #comma(): void {
    this.#move('next', this.#levels.at(-1)?.kind === '{' ? 'name' : 'value')
  }

  #move(from: Expected, to: Expected): void {
    if (this.#expected !== from) this.#refuse('a comma or colon is in the wrong place')
    this.#expected = to
  }

  #beforeValue(): void {
    if (this.#expected !== 'value' && this.#expected !== 'first') this.#refuse('a value is in the wrong place')
  }

  #afterValue(): void {
    const level = this.#levels.at(-1)
    if (level?.kind === '[') this.#name = level.name
    this.#expected = level === undefined ? 'end' : 'next'
  }

  #refuse(why: string): never {
    throw new JsonError(`byte ${this.#read}: ${why}`)
  }
}

/** Letters, digits, plus, minus and dot. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  )
}
