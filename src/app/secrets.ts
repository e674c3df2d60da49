/**
 * Secrets nobody configured: made at random on the first start and kept in the data folder, readable by its owner only. They must
 * outlive the process: tickets and sessions given out before a restart stay good after it.
 */

import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../base/random.ts'

interface KeptSecret {
  readonly value: string
  readonly path: string
  readonly made: boolean
}

export function keepSecret(dataDir: string, name: string, random: Random): KeptSecret {
  const path = join(dataDir, name)
  mkdirSync(dataDir, { recursive: true })
  if (existsSync(path)) return { value: readFileSync(path, 'utf8').trim(), path, made: false }
  const value = Buffer.from(random.bytes(32)).toString('base64url')
  // Written whole under another name, then linked: two starters agree on one secret, and a crash leaves no half of one.
  const draft = join(dataDir, `.${name}-${Buffer.from(random.bytes(6)).toString('hex')}`)
  writeFileSync(draft, `${value}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const kept = readFileSync(path, 'utf8').trim()
  return { value: kept, path, made: kept === value }
}
