/** The risk hook: how the shop's own program is asked. Posted and signed as webhooks are, to an address that is checked each time. */

import { Risk } from '../admission/risk.ts'
import { createGuardedPost } from '../webhooks/http/guarded-post.ts'
import { signedHeaders } from '../webhooks/signature.ts'
import type { ProcessContext } from './process-context.ts'

/** Undefined: no program is asked. */
export function composeRisk(context: ProcessContext): Risk | undefined {
  const { config, clock, random } = context
  if (config.risk === undefined) return undefined
  const { url, secret, rules, ...terms } = config.risk
  const send = createGuardedPost({ clock, rules, timeoutMs: terms.timeoutMs })
  return new Risk({
    ...context,
    ...terms,
    post(body, signal) {
      const id = Buffer.from(random.bytes(16)).toString('base64url')
      const headers = { 'content-type': 'application/json', ...signedHeaders(id, clock.now(), body, [secret]) }
      return send(url, headers, body, signal)
    },
  })
}
