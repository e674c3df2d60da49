/**
 * stripe-mock, Stripe's own server for tests: it checks requests against Stripe's description of its API. It is a Go module, built with the
 * machine's Go or Debian's, in this version; Go compares it with its public checksum database. The program is kept in the user's cache
 * folder, outside the checkout. Where it can't be had, that is one clear line.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ensureServers } from '../servers.ts'

const VERSION = 'v0.203.0'
const GO_VERSION_MIN = 22
const GO_PATHS = ['go', '/usr/local/go/bin/go', '/usr/bin/go']
const BUILD_MS_MAX = 10 * 60_000

/** Set by a test run that could not build it: the line that says why. The files of the run fail with it, and do not try again. */
export const STRIPE_MOCK_MISSING_VARIABLE = 'STAMPEDE_TEST_STRIPE_MOCK_MISSING'

/** The program's path. Throws with one line where it is missing and can't be built. */
export function ensureStripeMock(say: (line: string) => void, paths: readonly string[] = GO_PATHS): string {
  const missing = process.env[STRIPE_MOCK_MISSING_VARIABLE]
  if (missing !== undefined) throw new Error(missing)
  const caches = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'stampede')
  const program = join(caches, `stripe-mock-${VERSION}`)
  if (existsSync(program)) return program
  if (findGo(paths) === undefined) ensureServers(['golang-go'], say)
  const go = findGo(paths)
  if (go === undefined || go.minor < GO_VERSION_MIN)
    throw new Error(
      `the tests of Stripe's requests need Go 1.${GO_VERSION_MIN} or newer to build stripe-mock, and this machine has ${go?.text ?? 'none'}: install it from https://go.dev/dl`,
    )
  say(`building stripe-mock ${VERSION} …`)
  mkdirSync(caches, { recursive: true })
  const draft = mkdtempSync(join(caches, 'stripe-mock-'))
  try {
    const { status, stderr, error } = spawnSync(go.path, ['install', `github.com/stripe/stripe-mock@${VERSION}`], {
      env: { ...process.env, GOBIN: draft, GOFLAGS: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: BUILD_MS_MAX,
      encoding: 'utf8',
    })
    if (status !== 0) {
      const why = error?.message ?? stderr.trim().split('\n').at(-1)
      throw new Error(`stripe-mock could not be built: go install: ${why}`)
    }
    // Whole or not at all, also when two runs build it together.
    renameSync(join(draft, 'stripe-mock'), program)
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
