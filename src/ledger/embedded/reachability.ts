/**
 * What an account may enter and read, judged from owner, group and mode bits the way the kernel does, without becoming that account.
 * Knows no access control lists: where they grant more, we only copy more than needed.
 */

import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Account } from './account.ts'

const READ = 4
const ENTER = 1

/** The outermost folder on the way to `folder` (itself included) that the account may not enter; nothing when the way is free. */
export function blockedAt(folder: string, account: Account): string | undefined {
  const way: string[] = []
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    way.unshift(at)
    if (at === dirname(at)) break
  }
  return way.find(at => !allows(at, account, ENTER))
}

/** Whether the account may enter and list this folder, or read and run this file. Says nothing about the way there. */
export function mayReadAndRun(path: string, account: Account): boolean {
  return allows(path, account, READ | ENTER)
}

function allows(path: string, account: Account, wanted: number): boolean {
  const { uid, gid, mode } = statSync(path)
  // One class decides alone: an owner without the right is refused even where everybody else has it.
  const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode
  return (bits & wanted) === wanted
}
