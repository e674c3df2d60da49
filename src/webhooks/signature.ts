/**
 * Signatures after the Standard Webhooks specification (version 1, symmetric): HMAC-SHA256 over id, timestamp and body, one signature for each
 * secret that is valid at the moment, all in one header, so that a receiver may change from the old secret to the new one at any time between.
 */

import { createHmac } from 'node:crypto'
import { assert } from '../base/assert.ts'
import type { Random } from '../base/random.ts'

const PREFIX = 'whsec_'
/** As many as the hash has: the specification takes 24 to 64. */
const SECRET_BYTES = 32

export function newSecret(random: Random): string {
  return PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')
}

/** @param secrets all that are valid now, the newest first */
export function signedHeaders(
  id: string,
  nowMs: number,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  assert(secrets.length > 0, 'a webhook without a secret')
  // The parts are joined with dots: one in the id would let two messages have the same signature.
  assert(/^[A-Za-z0-9_-]+$/.test(id), 'the id of a webhook message has characters that it must not have')
  const timestamp = String(Math.floor(nowMs / 1000))
  const signed = `${id}.${timestamp}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(secret => `v1,${signature(secret, signed)}`).join(' '),
  }
}

function signature(secret: string, signed: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return createHmac('sha256', key).update(signed).digest('base64')
}
