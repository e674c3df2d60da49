/**
 * What the tests need from the machine and npm does not bring: a real browser, fonts for Chinese, and the servers of a cluster. As root on
 * Debian it is installed; otherwise its absence is one clear line. Nothing is skipped because it is missing. Debian starts some servers
 * when it installs them, on their default ports and for good: not here.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** A Debian package, and the file that shows it is there. */
const SERVERS = {
  chromium: '/usr/bin/chromium',
  'fonts-noto-cjk': '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc',
  'redis-server': '/usr/bin/redis-server',
  nginx: '/usr/sbin/nginx',
  haproxy: '/usr/sbin/haproxy',
  openssl: '/usr/bin/openssl',
  faketime: '/usr/bin/faketime',
  // Whatever its version: the server and its tools, for backups as an operator makes them.
  postgresql: '/usr/share/doc/postgresql',
  // What watches a cluster: `promtool` tests the rules, the two servers fire them.
  prometheus: '/usr/bin/prometheus',
  'prometheus-alertmanager': '/usr/bin/prometheus-alertmanager',
  // For Kafka's broker (`test/kafka/program.ts`): Java, and what fetches the jars.
  'default-jre-headless': '/usr/bin/java',
  maven: '/usr/bin/mvn',
  // For stripe-mock and versitygw (`test/go-program.ts`), where the machine has no Go of its own.
  'golang-go': '/usr/bin/go',
  // A mail server that is a process like any other: the example that mails buyers.
  'python3-aiosmtpd': '/usr/lib/python3/dist-packages/aiosmtpd',
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
  const installed = withoutStarting(() => {
    run('update')
    return run('install', '-y', ...missing)
  })
  if (missingOf(names).length > 0) {
    const why = installed.stderr.trim().split('\n').at(-1) ?? ''
    throw new Error(`the tests need ${missing.join(' and ')}, and "${byHand}" failed: ${why}`)
  }
}

/** Debian asks this program before it starts a service it has installed; 101 means no. One that is there already is somebody's own. */
const POLICY = '/usr/sbin/policy-rc.d'
const POLICY_TEXT = '#!/bin/sh\n# Here while test servers are installed.\nexit 101\n'

function withoutStarting<T>(install: () => T): T {
  // One of ours may be left from an installation that was killed.
  const ours = !existsSync(POLICY) || readFileSync(POLICY, 'utf8') === POLICY_TEXT
  if (ours) writeFileSync(POLICY, POLICY_TEXT, { mode: 0o755 })
  try {
    return install()
  } finally {
    if (ours) rmSync(POLICY, { force: true })
  }
}

function missingOf(names: readonly ServerName[]): ServerName[] {
  return names.filter(name => !existsSync(SERVERS[name]))
}
