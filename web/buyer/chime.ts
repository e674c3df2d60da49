/** A short sound of three notes. Browsers let a page sound only after a press on it: `unlock` is called by one. */

const NOTES_HZ = [660, 880, 1_320]
const NOTE_S = 0.16

export class Chime {
  #context: AudioContext | undefined

  /** It can be heard. */
  get ready(): boolean {
    return this.#context?.state === 'running'
  }

  async unlock(): Promise<void> {
    if (!('AudioContext' in globalThis)) return
    this.#context ??= new AudioContext()
    await this.#context.resume().catch(() => {})
  }

  ring(): void {
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

  close(): void {
    void this.#context?.close().catch(() => {})
    this.#context = undefined
  }
}
