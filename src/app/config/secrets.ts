/**
 * Secrets that are not configured. A process of its own makes them at random on the first start and keeps them in the data folder, readable by
 * its owner only. The processes of a cluster share no folder: they derive them from the TICKET_KEYS that all of them have.
 * Both outlive a restart: tickets and sessions given out before it stay good after it.
 */

import { createHmac } from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTicketKeys } from '../../admission/ticket.ts'
import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { Config } from './config.ts'

/** As for a secret that is configured. */
const SECRET_LENGTH_MIN = 16

/** The secret for this purpose: derived in a cluster, else kept in the file of this name. */
export function ownSecret(config: Config, random: Random, file: string, purpose = file): string {
  return config.redis !== undefined && config.ticketKeys !== undefined
    ? derivedSecret(config.ticketKeys, purpose)
    : keepSecret(config.dataDir, file, random).value
}

/** Reads the secret of this name from the data folder, or makes it. Throws a Fault if the folder can't keep it or the file holds none. */
export function keepSecret(dataDir: string, name: string, random: Random) {
  const path = join(dataDir, name)
  try {
    mkdirSync(dataDir, { recursive: true })
    if (!existsSync(path)) makeSecret(dataDir, name, random)
    const value = readFileSync(path, 'utf8').trim()
    if (value.length >= SECRET_LENGTH_MIN) return { value, path }
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') throw error
    const why = error instanceof Error ? error.message : code
    const message = `DATA_DIR: ${dataDir} can't keep the secrets made at the first start: ${why}; make it writable, or name another folder`
    throw new Fault('data_dir_unusable', message, { cause: error })
  }
  throw new Fault(
    'secret_unusable',
    `${path} holds no secret of at least ${SECRET_LENGTH_MIN} characters: bring it back from a backup, or remove it to have another one made`,
  )
}

/** Written whole under another name, then linked: two processes that start together agree on one secret, and a crash leaves no half of one. */
function makeSecret(dataDir: string, name: string, random: Random): void {
  const draft = join(dataDir, `.${name}-${Buffer.from(random.bytes(6)).toString('hex')}`)
  writeFileSync(draft, `${Buffer.from(random.bytes(32)).toString('base64url')}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  try {
    linkSync(draft, join(dataDir, name))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * The same secret in every process with these TICKET_KEYS, another one for every purpose; the key can't be computed from it.
 * Derived from the oldest key, the last one: a new key is put in front and changes nothing here, also while only half of the processes
 * have it. When the oldest key is dropped, sessions and pay links end together with its tickets.
 */
function derivedSecret(ticketKeys: string, purpose: string): string {
  const oldest = parseTicketKeys(ticketKeys).at(-1)
  assert(oldest !== undefined, 'a secret was derived from no key')
  return createHmac('sha256', oldest.secret).update(`stampede ${purpose} secret`).digest('base64url')
}
