/** Errors of the operating system. */

import { Fault } from '../../base/fault.ts'

/** The system's code (`ENOENT`, `EACCES` …), when an error carries one. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Undefined when the file or folder does not exist. */
export function ifExists<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    return missing(error)
  }
}

/** For `catch`: undefined for a file that does not exist, any other error is thrown on. */
export function missing(error: unknown): undefined {
  if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error
}

/** An error of the system in `work` becomes a Fault with one line for the operator; any other passes as it is. */
export async function orFault<T>(code: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Fault || errnoOf(error) === undefined) throw error
    throw new Fault(code, `${what}: ${messageOf(error)}`, { cause: error })
  }
}
