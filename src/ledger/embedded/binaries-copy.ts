/**
 * A copy of the PostgreSQL programs that any account can run: `/var/lib/stampede/postgres-<version>-<hash>`, or the same under the
 * temporary folder where that can't be written. Made under another name and renamed when complete, so a copy is whole or absent; every later
 * start uses it. A folder of that name that another user could have written is refused: its programs would be run.
 * Old copies are not removed: another Stampede on the machine may be running from them.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { type Account, blockedAt, makeSharedHome } from './account.ts'
import { errnoOf, ifExists, messageOf } from './errno.ts'

/** PostgreSQL's programs as installed. */
export interface Binaries {
  /** The folder that holds `native/`. */
  readonly packageFolder: string
  /** As in package.json, e.g. `18.4.0`. */
  readonly version: string
}

/** Returns the folder of a complete copy. `finish` is called on a new copy before it gets its final name. */
export function copyBinaries(binaries: Binaries, account: Account | undefined, finish: (copy: string) => void): string {
  const program = readFileSync(join(binaries.packageFolder, 'native', 'bin', 'postgres'))
  const hash = createHash('sha256').update(program).digest('hex').slice(0, 12)
  let refused: unknown
  const name = `postgres-${binaries.version}-${hash}`
  const folders = [() => join(makeSharedHome(), name), () => join(tmpdir(), `stampede-${name}-${process.getuid?.()}`)]
  for (const folder of folders) {
    try {
      const copy = folder()
      const blocked = account && blockedAt(dirname(copy), account)
      if (blocked !== undefined) throw new Error(`"${account?.name}" can't enter ${blocked}`)
      return copyInto(copy, binaries, finish)
    } catch (error) {
      refused = error
    }
  }
  throw new Fault(
    'embedded_binaries',
    `PostgreSQL can't be run from ${binaries.packageFolder} and no copy could be made: ${messageOf(refused)}`,
    { cause: refused },
  )
}

function copyInto(copy: string, binaries: Binaries, finish: (copy: string) => void): string {
  if (exists(copy)) return copy
  const unfinished = `${copy}.new-${Buffer.from(systemRandom.bytes(6)).toString('hex')}`
  try {
    mkdirSync(unfinished, { mode: 0o755 })
    chmodSync(unfinished, 0o755)
    copyTree(join(binaries.packageFolder, 'native'), join(unfinished, 'native'))
    finish(unfinished)
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    // Another process made the same copy at the same time.
    if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error
    if (!exists(copy)) throw error
  }
  return copy
}

function exists(copy: string): boolean {
  const stat = ifExists(() => lstatSync(copy))
  if (stat === undefined) return false
  const trusted = stat.isDirectory() && (stat.uid === 0 || stat.uid === process.getuid?.()) && (stat.mode & 0o022) === 0
  if (!trusted) throw new Error(`${copy} was not made by this user`)
  return true
}

/** Modes are set, not copied: an install under a strict umask is the reason for the copy. */
function copyTree(from: string, to: string): void {
  mkdirSync(to)
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyTree(source, target)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else {
      copyFileSync(source, target)
      chmodSync(target, (lstatSync(source).mode & 0o100) === 0 ? 0o644 : 0o755)
    }
  }
}
