/** Alerts: the channels that are configured, and who sends to them. */

import { hostname } from 'node:os'
import { createSlackChannel, createWebhookChannel } from '../alerts/http/http-channels.ts'
import { createAwayClaim } from '../alerts/redis/away-claim.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import { AlertSender, type SeenTrouble } from '../flows/tell/send-alerts.ts'
import { createGuardedPost } from '../webhooks/http/guarded-post.ts'
import { signedHeaders } from '../webhooks/signature.ts'
import type { ProcessContext } from './process-context.ts'

/** @param redis where processes meet while the ledger is away */
export async function composeAlerts(
  context: ProcessContext,
  troubles: () => readonly SeenTrouble[],
  redis: RedisConnection | undefined,
): Promise<AlertSender> {
  const { config, registry, node } = context
  const { repeatMs, timeoutMs } = config.alerts
  return new AlertSender({
    ...context,
    channels: await channelsOf(context),
    troubles,
    namesOf({ sale, item }) {
      const live = [...registry.values()].find(
        one => one.sale.id === sale && (item === undefined || one.item.id === item),
      )
      return live === undefined ? {} : { saleName: live.sale.name, ...(item && { itemName: live.item.name }) }
    },
    maySendAlone: redis === undefined ? async () => true : createAwayClaim(redis),
    holder: node.holder,
    process: hostname(),
    source: config.publicUrl ?? 'stampede',
    page: config.publicUrl && `${config.publicUrl}/ops`,
    repeatMs,
    timeoutMs,
  })
}

async function channelsOf({ config, clock }: ProcessContext) {
  const { webhook, webhookSecret, slack, mail, rules, timeoutMs } = config.alerts
  const post = createGuardedPost({ clock, rules, timeoutMs })
  const sign = (id: string, body: string) =>
    webhookSecret === undefined ? {} : signedHeaders(id, clock.now(), body, [webhookSecret])
  return [
    ...(webhook === undefined ? [] : [createWebhookChannel({ url: webhook, post, sign })]),
    ...(slack === undefined ? [] : [createSlackChannel({ url: slack, post })]),
    ...(mail === undefined ? [] : [await openMail({ ...mail, timeoutMs })]),
  ]
}

/** What speaks SMTP is loaded only where it is needed. */
async function openMail(options: Parameters<typeof import('../alerts/mail/mail-channel.ts')['createMailChannel']>[0]) {
  const { createMailChannel } = await import('../alerts/mail/mail-channel.ts')
  return createMailChannel(options)
}
