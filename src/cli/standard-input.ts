/** For hidden commands that another Stampede process starts: the task is the first line of standard input, and the command ends with it. */

import { createInterface } from 'node:readline'
import { Fault } from '../base/fault.ts'

/** `stopping` is aborted when the input ends: the process that started this one may die in any way. */
export async function readTask<T>(stopping: AbortController): Promise<T> {
  const first = Promise.withResolvers<string>()
  const lines = createInterface({ input: process.stdin })
  lines.once('line', first.resolve)
  lines.once('close', () => {
    first.reject(new Fault('no_task', 'this command gets its task on standard input, from the process that starts it'))
    stopping.abort()
  })
  return JSON.parse(await first.promise) as T
}
