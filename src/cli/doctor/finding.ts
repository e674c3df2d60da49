/** One thing the doctor checked. good: as it must be; odd: works, but look at it; bad: a sale would not be safe, or not start. */

export interface Finding {
  readonly what: string
  readonly state: 'good' | 'odd' | 'bad'
  readonly found: string
  /** What to do about it. */
  readonly advice?: string
}

export const good = (what: string, found: string): Finding => ({ what, state: 'good', found })
export const odd = (what: string, found: string, advice: string): Finding => ({ what, state: 'odd', found, advice })
export const bad = (what: string, found: string, advice: string): Finding => ({ what, state: 'bad', found, advice })

/** For what the doctor opens: its findings say what is wrong, so the log says nothing. */
export const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
