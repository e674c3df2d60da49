/** How big a process is, seen from outside: its memory and its open handles. */

import { readdirSync, readFileSync } from 'node:fs'

/** What it keeps in memory now. */
export function memoryKb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kb === undefined) throw new Error(`process ${pid} does not say how big it is`)
  return Number(kb)
}

/** Files and sockets. */
export function handles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
