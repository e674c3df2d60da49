/** How a long copy shows itself: one line that is written over on a terminal, nothing elsewhere; and sizes and times for people. */

import type { Clock } from '../base/clock.ts'

export interface Copied {
  readonly files: number
  readonly filesMax: number
  readonly bytes: number
  readonly bytesMax: number
}

const SHOW_EVERY_MS = 100

interface CopyingLine {
  show(copied: Copied): void
  /** Leaves an empty line for what comes next. */
  end(): void
}

export function copyingLine(clock: Clock, verb: string, out: NodeJS.WriteStream): CopyingLine {
  let shownMs = Number.NEGATIVE_INFINITY
  return {
    show({ files, filesMax, bytes, bytesMax }) {
      if (!out.isTTY || (clock.elapsed() - shownMs < SHOW_EVERY_MS && files < filesMax)) return
      shownMs = clock.elapsed()
      const percent = bytesMax === 0 ? 100 : Math.floor((bytes / bytesMax) * 100)
      out.write(`\r\x1b[2K${verb} ${percent}%  ${files} of ${filesMax} files  ${size(bytes)} of ${size(bytesMax)}`)
    },
    end() {
      if (out.isTTY) out.write('\r\x1b[2K')
    },
  }
}

export function size(bytes: number): string {
  for (const [unit, factor] of [
    ['GB', 1e9],
    ['MB', 1e6],
    ['kB', 1e3],
  ] as const)
    if (bytes >= factor) return `${(bytes / factor).toFixed(1)} ${unit}`
  return `${bytes} bytes`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
