/** All webhooks, and adding one. */

import { useState } from 'preact/hooks'
import { get } from '../../api.ts'
import { formatCount, formatSpan } from '../../format.ts'
import type { Webhook, Webhooks } from '../../shapes.ts'
import { mayManage, serverNow } from '../../store.ts'
import { webhookWords } from '../../words/webhooks.ts'
import { words } from '../../words.ts'
import { useEvery } from '../controls/hooks.ts'
import { SecretPanel } from './secret-panel.tsx'
import { WebhookForm } from './webhook-form.tsx'

const POLL_MS = 2_000

export function WebhooksView() {
  const text = webhookWords()
  const [webhooks, setWebhooks] = useState<readonly Webhook[]>()
  const [adding, setAdding] = useState(false)
  const [secret, setSecret] = useState<string>()
  const read = async () => {
    const reply = await get<Webhooks>('/api/admin/webhooks')
    if (reply.kind === 'ok') setWebhooks(reply.body.webhooks)
  }
  useEvery(POLL_MS, 'webhooks', read)
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>{text.webhooks}</h1>
        {mayManage() && (
          <button type="button" class="button main" data-action="add" onClick={() => setAdding(true)}>
            {text.add}
          </button>
        )}
      </div>
      <p class="soft under-title">{text.note}</p>
      {/* It takes the focus, which the open dialog would keep from it. */}
      {secret !== undefined && !adding && <SecretPanel secret={secret} onDone={() => setSecret(undefined)} />}
      {webhooks === undefined && <p class="soft">{words().loading}</p>}
      {webhooks?.length === 0 && (
        <section class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </section>
      )}
      {webhooks !== undefined && webhooks.length > 0 && (
        <ul class="sales">
          {webhooks.map(webhook => (
            <li key={webhook.id}>
              <Row webhook={webhook} />
            </li>
          ))}
        </ul>
      )}
      {adding && (
        <WebhookForm
          webhook={undefined}
          onSaved={made => {
            setSecret(made.secret)
            void read()
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </>
  )
}

function Row({ webhook }: { readonly webhook: Webhook }) {
  return (
    <a class="sale-row" href={`/ops/webhooks/${webhook.id}`} data-webhook={webhook.id}>
      <span class="sale-name" dir="auto">
        {webhook.about || hostIn(webhook.url)}
      </span>
      <WebhookBadge webhook={webhook} />
      <span class="soft">{hostIn(webhook.url)}</span>
      <span class="soft">{countsOf(webhook)}</span>
    </a>
  )
}

export function hostIn(url: string): string {
  return URL.parse(url)?.host ?? url
}

export function WebhookBadge({ webhook: { state, failingSince } }: { readonly webhook: Webhook }) {
  const text = webhookWords()
  const failing = state === 'active' && failingSince !== undefined
  const look = failing || state === 'gone' ? 'paused' : state === 'active' ? 'open' : 'draft'
  return (
    <span class={`badge badge-${look}`} data-state={state}>
      {failing ? text.failing(formatSpan(serverNow() - Date.parse(failingSince))) : text.states[state]}
    </span>
  )
}

function countsOf({ waiting, failed }: Webhook): string {
  const text = webhookWords()
  return [waiting > 0 && text.waitingCount(formatCount(waiting)), failed > 0 && text.failedCount(formatCount(failed))]
    .filter(Boolean)
    .join(' · ')
}
