/**
 * Under which account PostgreSQL runs. It refuses to run as root, so root lends it an account without rights; anybody else runs it
 * as themselves. Accounts come from /etc/passwd, because PostgreSQL itself looks its user up there.
 */

import { readFileSync } from 'node:fs'
import { Fault } from '../../base/fault.ts'

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** From the most to the least particular. */
const PREFERRED = ['stampede', 'postgres', 'nobody'] as const

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * The account to switch to, or nothing when this process is not root. Data that is there already keeps its owner
 * (`ownerUid`), so that a folder once started by an ordinary user still opens for that user.
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
    'PostgreSQL does not run as root and there is no account "stampede", "postgres" or "nobody" to lend it; add one, or start as an ordinary user',
  )
}

function readAccounts(): Account[] {
  const accounts: Account[] = []
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (!name || !uid || !gid || !/^-?\d+$/.test(uid) || !/^-?\d+$/.test(gid)) continue
    // Some systems write nobody's id as -2.
    accounts.push({ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 })
  }
  return accounts
}
