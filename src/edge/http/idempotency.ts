/**
 * `Idempotency-Key` on operators' creations and stock changes. The id of what is to be made is stored under the key first:
 * the same key again leads to the same id, whether the first try succeeded or not. The same key with another body is refused.
 */

import { createHash } from 'node:crypto'
import type { IdMaker } from '../../base/snowflake.ts'
import type { Journal } from '../../ledger/journal.ts'
import { bodyInvalid, ProblemError } from './problem-response.ts'

/** The id to make the thing under. */
export async function keyedSubject(
  parts: { readonly journal: Journal; readonly ids: Pick<IdMaker, 'next'> },
  call: string,
  request: Request,
  body: unknown,
): Promise<string> {
  const fresh = parts.ids.next()
  const key = request.headers.get('idempotency-key')
  if (key === null) return fresh
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw bodyInvalid('Idempotency-Key', 'Idempotency-Key must be 1 to 200 printable characters without spaces.')
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('base64url')
  const remembered = await parts.journal.rememberKey(call, key, hash, fresh)
  if (remembered.bodyHash !== hash) throw new ProblemError('idempotency_key_reused')
  return remembered.subject
}
