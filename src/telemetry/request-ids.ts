/**
 * Names for requests, so that an answer, a log line and a shop's own log can be brought together. The client's own `x-request-id` is
 * kept when it is short and harmless; otherwise one is made: unique in this process by counting, among processes by chance. No secret.
 */

import type { Random } from '../base/random.ts'

export const REQUEST_ID_HEADER = 'x-request-id'

const HARMLESS = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/

/** @returns the request's id, given or made */
export function createRequestIds(random: Random): (given: string | null) => string {
  const process = Buffer.from(random.bytes(6)).toString('base64url')
  let made = 0
  return given => {
    if (given !== null && HARMLESS.test(given)) return given
    made += 1
    return `${process}-${made.toString(36)}`
  }
}
