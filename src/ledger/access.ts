/** Whom operators let in or keep out. Every change raises a revision, so that an edge reads the list only when it has changed. */

import type { AccessEntry } from '../domain/access-entry.ts'

export interface AccessList {
  /** The same kind, subject and value again gets the new end and reason. Undefined: there are too many. */
  add(entry: Omit<AccessEntry, 'atMs'>, entriesMax: number): Promise<AccessEntry | undefined>
  remove(id: string, by: string): Promise<boolean>
  /** Newest first. Undefined: it is still this revision. */
  since(revision: number): Promise<{ readonly revision: number; readonly entries: readonly AccessEntry[] } | undefined>
}
