/** One thing the doctor looked at. good: as it must be; odd: works, but look; bad: a sale would not be safe, or not start. */

export interface Finding {
  readonly what: string
  readonly state: 'good' | 'odd' | 'bad'
  readonly found: string
  /** What to do about it. */
  readonly advice?: string
}
