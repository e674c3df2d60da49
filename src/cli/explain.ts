/** What stopped a command, in one line for a person, and its exit code: 1 failed, 2 asked for in a way that can't work. */

import { ConfigError } from '../app/config.ts'
import { Fault } from '../base/fault.ts'

export function explain(error: unknown): { readonly line: string; readonly exitCode: 1 | 2 } {
  if (error instanceof ConfigError) return { line: error.message, exitCode: 2 }
  if (error instanceof Fault) return { line: error.message, exitCode: 1 }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { line: `this is a bug, please report it\n${trace}`, exitCode: 1 }
}
