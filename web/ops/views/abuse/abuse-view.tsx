/** Who was turned away lately, and why: by reason, by network, by claim; and keeping a network or a claim out from here. */

import { useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import type { Abuse, AccessEntry, RefusalReason } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { abuseWords } from '../../words/abuse.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { useEvery } from '../controls/hooks.ts'

const POLL_MS = 5_000
const DENIED_MS = 2 * 3_600_000

interface Target {
  readonly subject: AccessEntry['subject']
  readonly value: string
}

export function AbuseView() {
  const text = abuseWords()
  const [seen, setSeen] = useState<Abuse>()
  const [asked, setAsked] = useState<Target>()
  const read = async () => {
    const reply = await get<Abuse>('/api/admin/abuse')
    if (reply.kind === 'ok') setSeen(reply.body)
  }
  useEvery(POLL_MS, 'abuse', read)
  const deny = async ({ subject, value }: Target) => {
    const until = new Date(Date.now() + DENIED_MS).toISOString()
    const body = { kind: 'deny', subject, value, until, reason: text.entryReason }
    const reply = await call<AccessEntry>('POST', '/api/admin/lists', { body })
    if (reply.kind === 'ok') notify('done', text.done(value))
    await read()
    return reply
  }
  return (
    <>
      <h1 tabIndex={-1}>{text.title}</h1>
      <p class="soft">{text.note}</p>
      {seen === undefined && <p class="soft">{words().loading}</p>}
      {seen !== undefined && text.risk[seen.risk] !== undefined && <p data-risk={seen.risk}>{text.risk[seen.risk]}</p>}
      {seen?.since === null && (
        <div class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </div>
      )}
      {typeof seen?.since === 'string' && (
        <>
          <p class="soft">{text.since(formatTime(seen.since))}</p>
          <ByReason reasons={seen.reasons} />
          <Tops
            title={text.networks}
            what={text.network}
            tops={seen.networks.map(({ network, ...top }) => ({ ...top, key: network }))}
            onDeny={value => setAsked({ subject: 'prefix', value })}
          />
          <Tops
            title={text.claims}
            what={text.claim}
            tops={seen.claims.map(({ claim, ...top }) => ({ ...top, key: claim }))}
            onDeny={value => setAsked({ subject: 'claim', value })}
          />
        </>
      )}
      {asked !== undefined && (
        <Dialog
          title={text.denyTitle}
          what={text.denyWhat(asked.value)}
          confirm={text.deny}
          act={() => deny(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

function ByReason({ reasons }: Pick<Abuse, 'reasons'>) {
  const text = abuseWords()
  return (
    <section class="card" aria-label={text.byReason}>
      <h2>{text.byReason}</h2>
      <table class="lines">
        <thead>
          <tr>
            <th scope="col">{text.reason}</th>
            <th scope="col">{text.count}</th>
          </tr>
        </thead>
        <tbody>
          {sorted(reasons).map(([reason, count]) => (
            <tr key={reason} data-reason={reason}>
              <td>{text.reasons[reason]}</td>
              <td>{formatCount(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface TopsProps {
  readonly title: string
  readonly what: string
  readonly tops: readonly (Omit<Abuse['networks'][number], 'network'> & { readonly key: string })[]
  readonly onDeny: (key: string) => void
}

function Tops({ title, what, tops, onDeny }: TopsProps) {
  const text = abuseWords()
  if (tops.length === 0) return null
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <table class="lines">
        <thead>
          <tr>
            <th scope="col">{what}</th>
            <th scope="col">{text.count}</th>
            <th scope="col">{text.why}</th>
          </tr>
        </thead>
        <tbody>
          {tops.map(({ key, total, atLeast, reasons, denied }) => (
            <tr key={key} data-top={key}>
              <td class="long">
                <span dir="auto">{key}</span>
              </td>
              <td>
                {formatCount(total)}
                {atLeast < total && <span class="soft"> {text.atLeast(formatCount(atLeast))}</span>}
              </td>
              <td class="long">
                {sorted(reasons)
                  .map(([reason, count]) => `${text.reasons[reason]} ${formatCount(count)}`)
                  .join(' · ')}{' '}
                {denied && <span class="soft">{text.denied}</span>}
                {!denied && mayRun() && (
                  <button
                    type="button"
                    class="quiet-button"
                    data-action="deny"
                    aria-label={text.denyOf(key)}
                    onClick={() => onDeny(key)}
                  >
                    {text.deny}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function sorted(reasons: Abuse['reasons']): readonly (readonly [RefusalReason, number])[] {
  return (Object.entries(reasons) as [RefusalReason, number][]).sort(([, a], [, b]) => b - a)
}
