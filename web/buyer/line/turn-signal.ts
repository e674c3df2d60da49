/** Says that it is the buyer's turn, also to those who look at another tab: a sound, if the buyer has switched it on, a short vibration, and the title of the page. */

import { Chime } from '../chime.ts'

const KEPT = 'stampede.line-sound'

export class TurnSignal {
  readonly #chime = new Chime()
  #title: string | undefined
  #shown = ''

  get sounds(): boolean {
    try {
      return localStorage.getItem(KEPT) !== 'off'
    } catch {
      return true
    }
  }

  /** By a press of the buyer: browsers let a page sound only after one. */
  setSounds(on: boolean): void {
    try {
      localStorage.setItem(KEPT, on ? 'on' : 'off')
    } catch {}
    if (on) this.unlock()
  }

  unlock(): void {
    if (this.sounds) void this.#chime.unlock()
  }

  sound(): void {
    if (!this.sounds) return
    // Without a press on this page a vibration is refused, and the browser complains.
    if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.([200, 100, 200])
    this.#chime.ring()
  }

  /** Before the title of the page; empty: the title alone. */
  show(text: string): void {
    if (document.title !== this.#shown) this.#title = document.title
    const title = this.#title ?? ''
    this.#shown = text === '' ? title : `${text} · ${title}`
    if (document.title !== this.#shown) document.title = this.#shown
  }

  stop(): void {
    this.show('')
    this.#chime.close()
  }
}
