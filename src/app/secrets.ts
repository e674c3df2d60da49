/**
 * Secrets nobody configured. One process alone makes them at random on the first start and keeps them in the data folder, readable by
 * its owner only. The processes of a cluster share no folder: they derive them from what all of them are configured with.
 * They must outlive the process: tickets and sessions given out before a restart stay good after it.
 */

import { createHmac } from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTicketKeys } from '../admission/ticket.ts'
import { assert } from '../base/assert.ts'
import { Fault } from '../base/fault.ts'
import type { Random } from '../base/random.ts'

interface KeptSecret {
  readonly value: string
  readonly path: string
  readonly made: boolean
}

/** As for a secret that is configured. */
const SECRET_LENGTH_MIN = 16

/** A folder that can't keep it, or a file that holds none, is a Fault with one line for the operator. */
export function keepSecret(dataDir: string, name: string, random: Random): KeptSecret {
  let kept: KeptSecret
  try {
    kept = readOrMake(dataDir, name, random)
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code !== 'string') throw error
    const why = error instanceof Error ? error.message : code
    const message = `DATA_DIR: ${dataDir} can't keep the secrets made at the first start: ${why}; make it writable, or name another folder`
    throw new Fault('data_dir_unusable', message, { cause: error })
  }
  if (kept.value.length >= SECRET_LENGTH_MIN) return kept
  throw new Fault(
    'secret_unusable',
    `${kept.path} holds no secret of at least ${SECRET_LENGTH_MIN} characters: bring it back from a backup, or remove it to have another one made`,
  )
}

function readOrMake(dataDir: string, name: string, random: Random): KeptSecret {
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

/**
 * The same secret in every process with these TICKET_KEYS, another for every purpose, and no way back from it to the key.
 *
 * From the last key, which is the oldest: keys are changed by putting a newer one in front, and that leaves what is derived as it was,
 * also while half of the processes have the longer list. It changes when the oldest is dropped, which is when its tickets stop being
 * good too; sessions and pay links made until then end with it.
 */
export function derivedSecret(ticketKeys: string, purpose: string): string {
  const oldest = parseTicketKeys(ticketKeys).at(-1)
  assert(oldest !== undefined, 'a secret was derived from no key')
  return createHmac('sha256', oldest.secret).update(`stampede ${purpose} secret`).digest('base64url')
}
