/** Says that it is the buyer's turn, also to those who look at another tab: a sound, if the buyer has switched it on, a short vibration, and the title of the page. */

const KEPT = 'stampede.line-sound'
const NOTES_HZ = [660, 880, 1_320]
const NOTE_S = 0.16

export class TurnSignal {
  #context: AudioContext | undefined
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
    if (!this.sounds || !('AudioContext' in globalThis)) return
    this.#context ??= new AudioContext()
    void this.#context.resume().catch(() => {})
  }

  sound(): void {
    if (!this.sounds) return
    // Without a press on this page a vibration is refused, and the browser complains.
    if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.([200, 100, 200])
    const context = this.#context
    if (context === undefined) return
    for (const [no, hz] of NOTES_HZ.entries()) {
      const at = context.currentTime + no * NOTE_S
      const [tone, volume] = [context.createOscillator(), context.createGain()]
      tone.frequency.value = hz
      volume.gain.setValueAtTime(0.2, at)
      volume.gain.exponentialRampToValueAtTime(0.001, at + NOTE_S * 2)
      tone.connect(volume).connect(context.destination)
      tone.start(at)
      tone.stop(at + NOTE_S * 2)
    }
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
    void this.#context?.close().catch(() => {})
  }
}
