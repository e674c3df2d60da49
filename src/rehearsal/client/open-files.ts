/** Every connection is an open file. Better to say so before the first buyer than to fail at the ten-thousandth. */

import { readFileSync } from 'node:fs'
import { Fault } from '../../base/fault.ts'

/** What runtime, modules and the report need besides. */
const OTHERS = 100

export function checkOpenFiles(connections: number): void {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return
  }
  const most = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  if (connections + OTHERS <= most) return
  throw new Fault(
    'too_few_file_handles',
    `too few file handles: ${connections} connections need ${connections + OTHERS}, this system allows ${most}: ` +
      `run "ulimit -n 65536" first, or pass --connections ${Math.max(1, most - OTHERS)}`,
  )
}
