/**
 * The folder of PostgreSQL's socket. Its mode, 0700 for the account that PostgreSQL runs under, keeps others out: the database itself trusts
 * every process that can open the socket. A data folder always gets the same socket folder, so that pools reconnect.
 */

import { createHash } from 'node:crypto'
import { chmodSync, chownSync, lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../../base/fault.ts'
import { type Account, blockedAt } from './account.ts'
import { errnoOf } from './errno.ts'

/** Part of the socket's file name; nothing listens on this TCP port. */
export const SOCKET_PORT = 5432

/** The kernel's limit: 107 bytes on Linux, 103 on the BSDs and macOS. */
const SOCKET_PATH_BYTES_MAX = 103

export function socketPath(folder: string): string {
  return join(folder, `.s.PGSQL.${SOCKET_PORT}`)
}

/** Makes the folder, `<dataDir>/socket` unless that is too long or out of the account's reach, and returns its path. */
export function makeSocketFolder(dataDir: string, account: Account | undefined): string {
  const usable = (folder: string, parent: string) =>
    Buffer.byteLength(socketPath(folder)) <= SOCKET_PATH_BYTES_MAX &&
    !(account && blockedAt(parent, account) !== undefined)

  const inside = join(dataDir, 'socket')
  if (usable(inside, dataDir)) return makePrivate(inside, account, 'own')

  const name = `stampede-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  for (const parent of [tmpdir(), '/tmp']) {
    const folder = join(parent, name)
    if (usable(folder, parent)) return makePrivate(folder, account, 'shared')
  }
  throw new Fault(
    'embedded_socket',
    `there is no folder for PostgreSQL's socket: the path of ${inside} is too long or closed, and so is ${tmpdir()}; set DATA_DIR to a shorter path`,
  )
}

/** In a parent where all may write, an existing folder is used only if this user or the account owns it: another's may be a trap. */
function makePrivate(folder: string, account: Account | undefined, parent: 'own' | 'shared'): string {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    const stat = lstatSync(folder)
    const own = stat.isDirectory() && (stat.uid === process.getuid?.() || stat.uid === account?.uid)
    if (parent === 'shared' && !own)
      throw new Fault(
        'embedded_socket',
        `${folder}, the folder for PostgreSQL's socket, belongs to another user; remove it`,
      )
  }
  chmodSync(folder, 0o700)
  if (account) chownSync(folder, account.uid, account.gid)
  return folder
}
