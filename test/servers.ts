/**
 * What the tests need from the machine and npm does not bring: a real browser, and fonts for Chinese. As root on Debian it is installed;
 * otherwise its absence is one clear line. Nothing is skipped because it is missing.
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** A Debian package, and the file that shows it is there. */
const SERVERS = {
  chromium: '/usr/bin/chromium',
  'fonts-noto-cjk': '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc',
} as const

type ServerName = keyof typeof SERVERS

const INSTALL_MS_MAX = 10 * 60_000

/** Throws with one line when something is missing and can't be installed from here. */
export function ensureServers(names: readonly ServerName[], say: (line: string) => void): void {
  const missing = missingOf(names)
  if (missing.length === 0) return
  const byHand = `apt-get install -y ${missing.join(' ')}`
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    throw new Error(`the tests need ${missing.join(' and ')}: run "${byHand}" as root`)
  say(`installing ${missing.join(' and ')} for the tests …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const run = (...args: string[]) =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_MS_MAX, encoding: 'utf8' })
  run('update')
  const installed = run('install', '-y', ...missing)
  if (missingOf(names).length > 0) {
    const why = installed.stderr.trim().split('\n').at(-1) ?? ''
    throw new Error(`the tests need ${missing.join(' and ')}, and "${byHand}" failed: ${why}`)
  }
}

function missingOf(names: readonly ServerName[]): ServerName[] {
  return names.filter(name => !existsSync(SERVERS[name]))
}
