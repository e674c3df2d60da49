/**
 * Servers for tests that are Go modules, built with the machine's Go or Debian's, in one version; Go compares them with its public checksum
 * database. A program is kept in the user's cache folder, outside the checkout. Where it can't be had, that is one clear line.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ensureServers } from './servers.ts'

export interface GoProgram {
  readonly name: string
  /** The package of its `main`. */
  readonly module: string
  readonly version: string
  readonly goVersionMin: number
  /** What needs it, for the line that says it is missing: "the tests of …". */
  readonly needs: string
  /** Set by a test run that could not build it: the line that says why. The files of the run fail with it, and do not try again. */
  readonly missingVariable: string
}

const GO_PATHS = ['go', '/usr/local/go/bin/go', '/usr/bin/go']
const BUILD_MS_MAX = 10 * 60_000

/** The program's path. Throws with one line where it is missing and can't be built. */
export function ensureGoProgram(
  { name, module, version, goVersionMin, needs, missingVariable }: GoProgram,
  say: (line: string) => void,
  paths: readonly string[] = GO_PATHS,
): string {
  const missing = process.env[missingVariable]
  if (missing !== undefined) throw new Error(missing)
  const caches = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'stampede')
  const program = join(caches, `${name}-${version}`)
  if (existsSync(program)) return program
  if (findGo(paths) === undefined) ensureServers(['golang-go'], say)
  const go = findGo(paths)
  if (go === undefined || go.minor < goVersionMin)
    throw new Error(
      `${needs} need Go 1.${goVersionMin} or newer to build ${name}, and this machine has ${go?.text ?? 'none'}: install it from https://go.dev/dl`,
    )
  say(`building ${name} ${version} …`)
  mkdirSync(caches, { recursive: true })
  const draft = mkdtempSync(join(caches, `${name}-`))
  try {
    const { status, stderr, error } = spawnSync(go.path, ['install', `${module}@${version}`], {
      env: { ...process.env, GOBIN: draft, GOFLAGS: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: BUILD_MS_MAX,
      encoding: 'utf8',
    })
    if (status !== 0) {
      const why = error?.message ?? stderr.trim().split('\n').at(-1)
      throw new Error(`${name} could not be built: go install: ${why}`)
    }
    // Whole or not at all, also when two runs build it together.
    renameSync(join(draft, name), program)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return program
}

/** The newest Go there is. */
function findGo(
  paths: readonly string[],
): { readonly path: string; readonly minor: number; readonly text: string } | undefined {
  const found = paths.map(path => {
    const { stdout } = spawnSync(path, ['version'], { encoding: 'utf8' })
    const [text, minor] = /go1\.(\d+)[\w.]*/.exec(stdout ?? '') ?? []
    return text === undefined ? undefined : { path, minor: Number(minor), text }
  })
  return found.filter(go => go !== undefined).toSorted((a, b) => b.minor - a.minor)[0]
}
