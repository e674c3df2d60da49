/** What a rehearsal is doing right now: one line that changes on a terminal; anywhere else a plain line, without a bar, for each phase and from time to time. */

import type { Clock } from '../../base/clock.ts'
import type { Progress } from '../../rehearsal/progress.ts'
import { whole } from '../../rehearsal/verdict/verdict.ts'

const BAR = 24
const PLAIN_MS = 5_000
/** Where the terminal does not report its width. */
const COLUMNS = 120

export function createProgressLine(out: NodeJS.WriteStream, clock: Clock) {
  let drawn = false
  let [lastMs, lastAnswers, lastPhase, rate] = [clock.elapsed(), 0, '', 0]
  const clear = () => {
    if (drawn) out.write('\r\x1b[2K')
    drawn = false
  }
  return {
    print(line: string) {
      clear()
      out.write(`${line}\n`)
    },
    show(progress: Progress) {
      const nowMs = clock.elapsed()
      const { phase } = progress
      const answers = progress.orders + progress.refusals + progress.later + progress.errors
      const due = nowMs - lastMs >= PLAIN_MS || phase !== lastPhase
      if (nowMs - lastMs >= 500) {
        rate = ((answers - lastAnswers) * 1000) / (nowMs - lastMs)
        if (out.isTTY || due) [lastMs, lastAnswers] = [nowMs, answers]
      }
      if (out.isTTY) {
        // A line that wraps could not be drawn over.
        out.write(`\r\x1b[2K${describe(progress, rate).slice(0, (out.columns || COLUMNS) - 1)}`)
        drawn = true
      } else if (due) {
        out.write(`${describe(progress, rate, false)}\n`)
        lastMs = nowMs
      }
      lastPhase = phase
    },
    end: clear,
  }
}

function describe(progress: Progress, rate: number, withBar = true): string {
  const { phase, done, of, orders, refusals, later, errors, reserved, waitsFor } = progress
  const filled = of === 0 ? 0 : Math.round((BAR * done) / of)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`
  const head = withBar
    ? `${phase.padEnd(10)} ${bar} ${whole(done)}/${whole(of)}`
    : `${phase} ${whole(done)} of ${whole(of)}`
  if (waitsFor !== undefined) return `${head}  waiting: ${waitsFor}`
  if (phase !== 'selling') return head
  return `${head}  ${whole(Math.round(rate))}/s  orders ${whole(orders)}  refused ${whole(refusals)}  later ${whole(later)}  errors ${whole(errors)}${reserved > 0 ? `  reserved ${whole(reserved)}` : ''}`
}
