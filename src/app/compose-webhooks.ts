/** Webhooks: how they are posted, what operators do with them in an edge, and their sender, which works in the leader. */

import type { WebhookContext } from '../flows/operate/manage-webhooks.ts'
import { WebhookSender } from '../flows/tell/send-webhooks.ts'
import { createGuardedPost } from '../webhooks/http/guarded-post.ts'
import { targetRefusal } from '../webhooks/target.ts'
import type { ProcessContext } from './process-context.ts'

/** @param maySend is this process the leader? */
export function composeWebhooks(context: ProcessContext, maySend: () => boolean) {
  const { clock, config, webhookQueue: queue } = context
  const { rules, timeoutMs, retryMs } = config.webhooks
  const { source } = config.events
  const post = createGuardedPost({ clock, rules, timeoutMs })
  const operated: WebhookContext = {
    ...context,
    post,
    refusalOf: url => targetRefusal(url, rules),
    source,
    retryMs,
  }
  return {
    operated,
    sender: new WebhookSender({ ...context, queue, post, source, retryMs, maySend, tracing: context.tracing }),
  }
}
