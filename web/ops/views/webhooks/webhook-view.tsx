/** One webhook: what it gets, its actions, and its deliveries. */

import { useRef, useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { wholeWrong } from '../../refusal.ts'
import { go } from '../../route.ts'
import type { Resent, Webhook, WebhookTest, WebhookWithSecret } from '../../shapes.ts'
import { mayManage, mayRun, notify } from '../../store.ts'
import { webhookWords } from '../../words/webhooks.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { Dialog } from '../controls/dialog.tsx'
import { useEvery } from '../controls/hooks.ts'
import { Deliveries } from './deliveries.tsx'
import { SecretPanel } from './secret-panel.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { hostIn, WebhookBadge } from './webhooks-view.tsx'

const POLL_MS = 2_000

type Action = 'state' | 'rotate' | 'remove' | 'resend-failed'

export function WebhookView({ id }: { readonly id: string }) {
  const text = webhookWords()
  const [webhook, setWebhook] = useState<Webhook | 'missing'>()
  const [secret, setSecret] = useState<string>()
  const [reads, setReads] = useState(0)
  const read = async () => {
    const reply = await get<Webhook>(`/api/admin/webhooks/${id}`)
    if (reply.kind === 'ok') setWebhook(reply.body)
    else if (reply.kind === 'refused' && reply.status === 404) setWebhook('missing')
    setReads(count => count + 1)
  }
  useEvery(POLL_MS, id, read)
  if (webhook === undefined) return <p class="soft">{words().loading}</p>
  if (webhook === 'missing') return <Nothing />
  return (
    <>
      <p>
        <a href="/ops/webhooks">← {text.allWebhooks}</a>
      </p>
      <div class="title-row">
        <h1 tabIndex={-1} dir="auto">
          {webhook.about || hostIn(webhook.url)} <WebhookBadge webhook={webhook} />
        </h1>
      </div>
      {secret !== undefined && <SecretPanel secret={secret} onDone={() => setSecret(undefined)} />}
      <section class="card" aria-label={text.webhooks}>
        <Facts webhook={webhook} />
        <Actions webhook={webhook} onSecret={setSecret} onDone={() => void read()} />
      </section>
      <Deliveries webhook={webhook} reads={reads} onSent={() => void read()} />
    </>
  )
}

function Facts({ webhook }: { readonly webhook: Webhook }) {
  const text = webhookWords()
  const types = webhook.types.map(type => type.replace('stampede.', '')).join(', ')
  const facts = [
    [text.url, webhook.url],
    [text.types, types || text.allTypes],
    [text.since, formatTime(webhook.createdAt)],
    [text.secrets, formatCount(webhook.secrets)],
    [text.deliveryStates.waiting, formatCount(webhook.waiting)],
    [text.deliveryStates.failed, formatCount(webhook.failed)],
  ] as const
  return (
    <>
      <dl class="facts roomy">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="long">{value}</dd>
          </div>
        ))}
      </dl>
      {webhook.skipped > 0 && <p class="refused">{text.skippedCount(formatCount(webhook.skipped))}</p>}
    </>
  )
}

interface ActionsProps {
  readonly webhook: Webhook
  readonly onSecret: (secret: string) => void
  readonly onDone: () => void
}

function Actions({ webhook, onSecret, onDone }: ActionsProps) {
  const text = webhookWords()
  const [asked, setAsked] = useState<Action | 'edit'>()
  const [testing, setTesting] = useState(false)
  const path = `/api/admin/webhooks/${webhook.id}`
  const test = async () => {
    if (testing) return
    setTesting(true)
    const reply = await call<WebhookTest>('POST', `${path}/test`)
    setTesting(false)
    if (reply.kind === 'lost') return notify('failed', words().lost)
    if (reply.kind === 'refused') return notify('failed', wholeWrong(reply))
    const { delivered, status, problem = '', detail, tookMs = 0 } = reply.body
    if (delivered) return notify('done', text.testDone(`${status}`, formatCount(tookMs)))
    const why = [status !== undefined && `HTTP ${status}`, text.problems[problem] ?? problem, detail]
    notify('failed', text.testFailed(why.filter(Boolean).join(' · ')))
  }
  const button = (action: Action | 'edit', label: string, look = 'button') => (
    <button type="button" class={look} data-action={action} onClick={() => setAsked(action)}>
      {label}
    </button>
  )
  const turn = webhook.state === 'active' ? text.turnOff : text.turnOn
  const close = () => setAsked(undefined)
  return (
    <div class="actions">
      {mayRun() && (
        <button
          type="button"
          class="button main"
          data-action="test"
          aria-disabled={testing}
          onClick={() => void test()}
        >
          {testing ? text.testing : text.test}
        </button>
      )}
      {mayRun() && webhook.failed > 0 && button('resend-failed', text.resendFailed)}
      {mayManage() && (
        <>
          {button('edit', text.edit)}
          {button('state', turn)}
          {button('rotate', text.rotate)}
          {button('remove', text.remove, 'button grave')}
        </>
      )}
      {asked === 'edit' && <WebhookForm webhook={webhook} onSaved={onDone} onClose={close} />}
      {asked !== undefined && asked !== 'edit' && (
        <ActionDialog webhook={webhook} action={asked} onSecret={onSecret} onDone={onDone} onClose={close} />
      )}
    </div>
  )
}

function ActionDialog(props: ActionsProps & { readonly action: Action; readonly onClose: () => void }) {
  const { webhook, action, onSecret, onDone, onClose } = props
  const text = webhookWords()
  const path = `/api/admin/webhooks/${webhook.id}`
  const state = webhook.state === 'active' ? 'off' : 'active'
  const secret = useRef<string>(undefined)
  // A new secret is shown when the dialog is closed: it takes the focus.
  const close = () => {
    onClose()
    if (secret.current !== undefined) onSecret(secret.current)
  }
  const finish = (said: string) => {
    notify('done', said)
    void readLog()
    onDone()
  }
  const asks = {
    state: {
      title: state === 'active' ? text.turnOn : text.turnOff,
      what: state === 'active' ? text.turnOnWhat : text.turnOffWhat,
      confirm: state === 'active' ? text.turnOn : text.turnOff,
      async act() {
        const reply = await call<Webhook>('PATCH', path, { body: { state } })
        if (reply.kind === 'ok') finish(text.turned[state])
        return reply
      },
    },
    rotate: {
      title: text.rotateTitle,
      what: text.rotateWhat,
      confirm: text.rotate,
      async act() {
        const reply = await call<WebhookWithSecret>('POST', `${path}/rotate`, { body: {} })
        if (reply.kind !== 'ok') return reply
        secret.current = reply.body.secret
        finish(text.rotateDone)
        return reply
      },
    },
    remove: {
      title: text.removeTitle,
      what: text.removeWhat,
      confirm: text.removeConfirm,
      async act() {
        const reply = await call('DELETE', path)
        if (reply.kind !== 'ok') return reply
        notify('done', text.removed)
        void readLog()
        go('/ops/webhooks')
        return reply
      },
    },
    'resend-failed': {
      title: text.resendFailed,
      what: text.resendFailedWhat,
      confirm: text.resend,
      async act() {
        const reply = await call<Resent>('POST', `${path}/retry-failed`)
        if (reply.kind === 'ok') finish(text.resent(formatCount(reply.body.sent)))
        return reply
      },
    },
  }[action]
  return <Dialog {...asks} danger={action === 'remove'} onClose={close} />
}
