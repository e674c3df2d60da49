/**
 * Finds the Bun binary that npm installed and runs a file with it, passing arguments, signals and the exit code through.
 *
 * npm leaves the binary in one of two folders. Where install scripts ran, they moved it out of the platform's package into
 * `bun/bin/bun.exe` (that name on every platform). Where none ran, it still lies in the platform's package, and `bun.exe` is a
 * short text that only says so. Both are tried; a file too small to be the binary is skipped.
 */
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** The binary has about a hundred megabytes, its stand-in a few hundred bytes. */
const BINARY_BYTES_MIN = 1_000_000

/**
 * Bun's allocator gives freed memory back to the system almost at once. Under load it is needed again a moment later, and fetching it again
 * costs every request something: so it is kept for two seconds.
 */
const ALLOCATOR = { MIMALLOC_PURGE_DELAY: '2000' }

/** The platform's packages, the fitting one first. */
function platformPackages() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const os = process.platform === 'win32' ? 'windows' : process.platform
  const names = [`@oven/bun-${os}-${arch}`]
  if (os === 'linux') {
    const glibc = process.report?.getReport().header.glibcVersionRuntime !== undefined
    const musl = `@oven/bun-${os}-${arch}-musl`
    if (glibc) names.push(musl)
    else names.unshift(musl)
  }
  return names
}

function isBinary(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.size >= BINARY_BYTES_MIN
}

/** The folder of an installed package, or undefined. */
function packageFolder(name) {
  try {
    return dirname(require.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

function findBun() {
  const candidates = [
    ['bun', 'bun.exe'],
    ...platformPackages().map(name => [name, process.platform === 'win32' ? 'bun.exe' : 'bun']),
  ]
  for (const [name, file] of candidates) {
    const folder = packageFolder(name)
    if (folder === undefined) continue
    const path = join(folder, 'bin', file)
    if (isBinary(path)) return path
  }
  return undefined
}

export function runWithBun(args) {
  const bun = findBun()
  if (bun === undefined) {
    console.error(
      `stampede: no Bun binary for ${process.platform}-${process.arch}. Run "npm ci" in the project's folder first.`,
    )
    process.exit(1)
  }
  const child = spawn(bun, args, { stdio: 'inherit', env: { ...ALLOCATOR, ...process.env } })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', ...(process.platform === 'win32' ? [] : ['SIGUSR2'])]) {
    // Ctrl-C in a terminal reaches the child by itself; sent again, the child would take it for a second Ctrl-C.
    process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal))
  }
  child.on('error', error => {
    console.error(`stampede: could not start Bun: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0))
  })
}
