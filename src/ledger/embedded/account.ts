/**
 * The account that PostgreSQL runs under. PostgreSQL refuses to run as root, so root starts it under an account without rights; any other user
 * runs it as themselves. Accounts come from /etc/passwd, because PostgreSQL itself looks its user up there.
 *
 * What an account may enter and read is judged from owner, group and mode bits the way the kernel does, without becoming that account.
 * Access control lists are not read: where they grant more, more is copied than needed.
 */

import { chmodSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../base/fault.ts'

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** From the most to the least particular. */
const PREFERRED = ['stampede', 'postgres', 'nobody'] as const
/** Outside any user's home: where root puts programs and data that the account must reach. */
const SHARED_HOME = '/var/lib/stampede'
const READ = 4
const ENTER = 1

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * The account to switch to, or undefined when this process is not root. Existing data keeps its owner (`ownerUid`), so that a folder once
 * started by an ordinary user still opens for that user.
 */
export function accountFor(ownerUid: number | undefined): Account | undefined {
  if (!runsAsRoot()) return undefined
  const accounts = readAccounts()
  const owner = ownerUid === 0 ? undefined : accounts.find(account => account.uid === ownerUid)
  if (owner) return owner
  for (const name of PREFERRED) {
    const account = accounts.find(one => one.name === name && one.uid !== 0)
    if (account) return account
  }
  throw new Fault(
    'embedded_no_account',
    'PostgreSQL does not run as root and there is no account "stampede", "postgres" or "nobody" to run it under; add one, or start as an ordinary user',
  )
}

function readAccounts(): Account[] {
  const accounts: Account[] = []
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (!name || !uid || !gid || !/^-?\d+$/.test(uid) || !/^-?\d+$/.test(gid)) continue
    // Some systems write the id of the account "nobody" as -2.
    accounts.push({ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 })
  }
  return accounts
}

/** The outermost folder on the way to `folder` (itself included) that the account may not enter; undefined when it may enter all. */
export function blockedAt(folder: string, account: Account): string | undefined {
  const way: string[] = []
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    way.unshift(at)
    if (at === dirname(at)) break
  }
  return way.find(at => !allows(at, account, ENTER))
}

/** Whether the account may enter and list this folder, or read and run this file. The folders above it are not judged. */
export function mayReadAndRun(path: string, account: Account): boolean {
  return allows(path, account, READ | ENTER)
}

function allows(path: string, account: Account, wanted: number): boolean {
  const { uid, gid, mode } = statSync(path)
  // One class decides alone: an owner without the right is refused even where all others have it.
  const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode
  return (bits & wanted) === wanted
}

/** Makes the shared home if it does not exist; an existing one keeps its owner and mode. Throws when it can't be made. */
export function makeSharedHome(): string {
  const made = mkdirSync(SHARED_HOME, { recursive: true, mode: 0o755 })
  // mkdir obeys the umask, and a strict one would keep the account out.
  if (made !== undefined) chmodSync(SHARED_HOME, 0o755)
  return SHARED_HOME
}
