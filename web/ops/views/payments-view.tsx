/** Money over all sales: how each payment provider answers, and what was captured, refunded and kept by day. */

import { useEffect, useState } from 'preact/hooks'
import { download, get, type Unanswered } from '../api.ts'
import { formatCount, formatMoney, formatTime } from '../format.ts'
import { fieldWrong } from '../refusal.ts'
import type { PaymentReport, Providers } from '../shapes.ts'
import { notify, serverNow } from '../store.ts'
import { paymentWords } from '../words/payments.ts'
import { words } from '../words.ts'
import { Field } from './controls/field.tsx'
import { useEvery } from './controls/hooks.ts'

const POLL_MS = 3_000
const SHOWN_DAYS = 7
const DAY_MS = 86_400_000
const KINDS = ['start', 'query', 'cancel', 'refund'] as const

export function PaymentsView() {
  return (
    <>
      <h1 tabIndex={-1}>{paymentWords().title}</h1>
      <div class="watch">
        <ProvidersCard />
        <ReportCard />
      </div>
    </>
  )
}

type Provider = Providers['providers'][number]

function ProvidersCard() {
  const text = words()
  const own = paymentWords()
  const [found, setFound] = useState<readonly Provider[]>()
  useEvery(POLL_MS, 'providers', async isCurrent => {
    const reply = await get<Providers>('/api/admin/payments/providers')
    if (isCurrent() && reply.kind === 'ok') setFound(reply.body.providers)
  })
  const since = found?.map(one => one.since).toSorted()[0]
  return (
    <section class="card" aria-labelledby="providers">
      <h2 id="providers">{own.providers}</h2>
      {found === undefined && <p class="soft">{text.loading}</p>}
      {found?.length === 0 && <p class="soft">{own.noProviders}</p>}
      {found !== undefined && found.length > 0 && (
        <table class="lines" data-providers>
          <thead>
            <tr>
              {[
                text.provider,
                text.state,
                own.calls,
                own.times,
                own.lastSuccess,
                own.callbacks,
                own.open,
                own.refunds,
              ].map(title => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.map(one => (
              <ProviderRow one={one} key={one.provider} />
            ))}
          </tbody>
        </table>
      )}
      {since !== undefined && <p class="soft">{own.since(formatTime(since))}</p>}
    </section>
  )
}

function ProviderRow({ one }: { readonly one: Provider }) {
  const own = paymentWords()
  const shown = (at: string | undefined) => (at === undefined ? own.never : formatTime(at))
  return (
    <tr>
      <td>{one.provider}</td>
      <td>{one.silent ? <strong class="refused">{own.silent}</strong> : own.answers}</td>
      <td>
        {KINDS.map(kind => {
          const { ok, refused, unreachable } = one.calls[kind]
          return (
            <div key={kind}>
              {own.kinds[kind]}: {[ok, refused, unreachable].map(formatCount).join(' / ')}
            </div>
          )
        })}
      </td>
      <td>{own.milliseconds(formatCount(one.p50Ms), formatCount(one.p99Ms))}</td>
      <td>{shown(one.lastSuccessAt)}</td>
      <td>
        {formatCount(one.callbacks)} <span class="soft">{shown(one.lastCallbackAt)}</span>
        {one.forged > 0 && <div class="refused">{own.forged(formatCount(one.forged))}</div>}
      </td>
      <td>{formatCount(one.open)}</td>
      <td>
        {formatCount(one.refundsDue)} / {formatCount(one.refundsStuck)}
      </td>
    </tr>
  )
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

function ReportCard() {
  const text = words()
  const own = paymentWords()
  const [days, setDays] = useState(() => ({
    from: dayOf(serverNow() - (SHOWN_DAYS - 1) * DAY_MS),
    to: dayOf(serverNow()),
  }))
  const [asked, setAsked] = useState(days)
  const [found, setFound] = useState<PaymentReport>()
  const [failed, setFailed] = useState<Unanswered>()
  const path = `/api/admin/payments/report?${new URLSearchParams(asked)}`
  useEffect(() => {
    let current = true
    void get<PaymentReport>(path).then(reply => {
      if (!current) return
      if (reply.kind === 'ok') setFound(reply.body)
      setFailed(reply.kind === 'ok' ? undefined : reply)
    })
    return () => {
      current = false
    }
  }, [path, asked])
  const csv = async () => {
    const reply = await download(path, 'text/csv', own.csvName(asked.from, asked.to))
    if (reply.kind === 'ok') notify('done', text.csvDone)
    else notify('failed', reply.kind === 'lost' ? text.lost : reply.detail)
  }
  const wrongOf = (name: string) =>
    failed?.kind === 'refused' && failed.field === name ? fieldWrong(failed) : undefined
  const lines = found?.lines ?? []
  return (
    <section class="card" aria-labelledby="report">
      <h2 id="report">{own.report}</h2>
      <p class="soft">{own.reportNote}</p>
      <form
        class="search"
        noValidate
        onSubmit={event => {
          event.preventDefault()
          setAsked({ ...days })
        }}
      >
        {(['from', 'to'] as const).map(name => (
          <Field
            key={name}
            label={own[name]}
            name={name}
            value={days[name]}
            onInput={value => setDays(before => ({ ...before, [name]: value.trim() }))}
            wrong={wrongOf(name)}
          />
        ))}
        <button type="submit" class="button main">
          {own.show}
        </button>
        <button type="button" class="button" onClick={() => void csv()}>
          {own.csv}
        </button>
      </form>
      {failed?.kind === 'lost' && <p class="refused">{text.lost}</p>}
      {found === undefined && failed === undefined && <p class="soft">{text.loading}</p>}
      {found !== undefined && lines.length === 0 && <p class="soft">{own.nothing}</p>}
      {lines.length > 0 && (
        <table class="lines" data-report>
          <thead>
            <tr>
              {[own.day, text.provider, own.captured, own.refunded, own.kept, own.times2].map(title => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map(({ day, provider, currency, captured, refunded, kept, captures, refunds }) => (
              <tr key={`${day} ${provider} ${currency}`}>
                <td>{day}</td>
                <td>{provider}</td>
                {[captured, refunded, kept].map((amount, i) => (
                  <td key={`${i}`}>{formatMoney({ amount, currency })}</td>
                ))}
                <td>
                  {formatCount(captures)} / {formatCount(refunds)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
