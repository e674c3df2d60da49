/** What the doctor checks on the machine itself: the runtime, open files, disk, and who may read the secrets. */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { size } from '../table.ts'
import { bad, type Finding, good, odd } from './finding.ts'

/** Every connected buyer takes one. */
const OPEN_FILES_MIN = 4_096
const DISK_BYTES_ODD = 5e9
const DISK_BYTES_BAD = 5e8
const SECRETS = ['admin-token', 'ops-session', 'ticket-key', 'guest-secret', 'sandbox-secret', 'sandbox-payments.jsonl']

export function checkRuntime(): Finding {
  const path = fileURLToPath(new URL('../../../package.json', import.meta.url))
  const wanted = String(JSON.parse(readFileSync(path, 'utf8')).dependencies?.bun)
  const found = process.versions.bun ?? 'none'
  if (found === wanted) return good('Bun', found)
  const advice = 'run "npm ci" and start with "npm start" or "npx stampede", which use the version that belongs to it'
  return odd('Bun', `${found}, tested with ${wanted}`, advice)
}

export function checkOpenFiles(): Finding {
  let limits = ''
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return good('open files', 'this system does not show its limit')
  }
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1] ?? 'unlimited'
  if (limit === 'unlimited' || Number(limit) >= OPEN_FILES_MIN) return good('open files', `up to ${limit}`)
  const advice =
    'every connected buyer needs one: "ulimit -n 65536" before the start, or LimitNOFILE=65536 in the systemd unit'
  return odd('open files', `only up to ${limit}`, advice)
}

/** Where the data folder is, or is going to be. */
export async function checkDisk(dataDir: string): Promise<Finding> {
  let folder = dataDir
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  const free = Number(bavail) * Number(bsize)
  const found = `${size(free)} free in ${folder}`
  if (free >= DISK_BYTES_ODD) return good('disk', found)
  const advice = 'a ledger that can not write stops the sale: make room, or set DATA_DIR to a larger disk'
  return (free >= DISK_BYTES_BAD ? odd : bad)('disk', found, advice)
}

export function checkSecrets(dataDir: string): Finding[] {
  const there = SECRETS.map(name => join(dataDir, name)).filter(path => existsSync(path))
  if (there.length === 0) return []
  const open = there.filter(path => (statSync(path).mode & 0o077) !== 0)
  if (open.length === 0) return [good('secrets', `${there.length} in ${dataDir}, closed to other accounts`)]
  const advice = `chmod 600 ${open.join(' ')}, and make new ones if others may have read them (remove the file and restart)`
  return [bad('secrets', `${open.join(', ')} can be read by other accounts`, advice)]
}
