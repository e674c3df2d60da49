/** A process that is listened to until its end. */

import type { ChildProcess } from 'node:child_process'
import { childEnd } from '../../src/base/child-end.ts'

export interface HeardOut {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export function listenTo(child: ChildProcess): { readonly ran: Promise<HeardOut>; out(): string; err(): string } {
  let [out, err] = ['', '']
  child.stdout?.on('data', chunk => {
    out += String(chunk)
  })
  child.stderr?.on('data', chunk => {
    err += String(chunk)
  })
  return { ran: childEnd(child).then(({ code }) => ({ code, out, err })), out: () => out, err: () => err }
}
