/**
 * What this browser remembers of one sale's reminder, over reloads and for all its tabs: `off`, `on`, or the opening of which the buyer was told. An opening that is
 * moved is told again. Without storage it lasts as long as the page.
 */

const KEY = 'stampede.reminder.'

export class KeptReminder {
  readonly key: string
  #without: string | null = null

  constructor(sale: string) {
    this.key = KEY + sale
  }

  get isOn(): boolean {
    return this.#read() !== null
  }

  isTold(opensAt: string): boolean {
    return this.#read() === opensAt
  }

  set(on: boolean): void {
    this.#write(on ? 'on' : null)
  }

  tell(opensAt: string): void {
    this.#write(opensAt)
  }

  #read(): string | null {
    try {
      return localStorage.getItem(this.key)
    } catch {
      return this.#without
    }
  }

  #write(value: string | null): void {
    this.#without = value
    try {
      if (value === null) localStorage.removeItem(this.key)
      else localStorage.setItem(this.key, value)
    } catch {}
  }
}
