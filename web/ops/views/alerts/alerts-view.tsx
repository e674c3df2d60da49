/** Where people are told of troubles: how each channel is, and a test of all of them. */

import { useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import { wholeWrong } from '../../refusal.ts'
import type { Alerts, AlertTest } from '../../shapes.ts'
import { mayRun } from '../../store.ts'
import { alertWords } from '../../words/alerts.ts'
import { words } from '../../words.ts'
import { useEvery } from '../controls/hooks.ts'

const POLL_MS = 5_000

export function AlertsView() {
  const text = alertWords()
  const [seen, setSeen] = useState<Alerts>()
  useEvery(POLL_MS, 'alerts', async () => {
    const reply = await get<Alerts>('/api/admin/alerts')
    if (reply.kind === 'ok') setSeen(reply.body)
  })
  return (
    <>
      <h1 tabIndex={-1}>{text.title}</h1>
      <p class="soft">{text.note}</p>
      {seen === undefined && <p class="soft">{words().loading}</p>}
      {seen?.channels.length === 0 && (
        <div class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </div>
      )}
      {seen !== undefined && seen.channels.length > 0 && (
        <>
          <Channels channels={seen.channels} />
          {mayRun() && <Test />}
        </>
      )}
    </>
  )
}

function Channels({ channels }: Alerts) {
  const text = alertWords()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.channel}</th>
          <th scope="col">{text.state}</th>
          <th scope="col">{text.toldAt}</th>
          <th scope="col">{text.waiting}</th>
        </tr>
      </thead>
      <tbody>
        {channels.map(({ channel, waiting, toldAt, failingSince, problem }) => (
          <tr key={channel} data-channel={channel}>
            <td>{text.channels[channel]}</td>
            <td class="long">
              {failingSince === null ? text.works : text.failing(formatTime(failingSince))}
              {problem !== null && <span class="soft"> {problem}</span>}
            </td>
            <td>{toldAt === null ? text.never : <time dateTime={toldAt}>{formatTime(toldAt)}</time>}</td>
            <td>{formatCount(waiting)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Test() {
  const text = alertWords()
  const [state, setState] = useState<'idle' | 'sending'>('idle')
  const [said, setSaid] = useState<readonly string[]>([])
  const send = async () => {
    if (state === 'sending') return
    setState('sending')
    setSaid([])
    const reply = await call<AlertTest>('POST', '/api/admin/alerts/test')
    setState('idle')
    if (reply.kind === 'lost') return setSaid([words().lost])
    if (reply.kind === 'refused') return setSaid([wholeWrong(reply)])
    setSaid(
      reply.body.channels.map(({ channel, told, problem, tookMs }) => {
        const name = text.channels[channel]
        const line = told ? text.arrived(name, (tookMs / 1000).toFixed(1)) : text.lost(name, problem ?? '')
        return told && problem !== null ? `${line}. ${problem}` : line
      }),
    )
  }
  return (
    <>
      <p class="ways">
        <button
          type="button"
          class="button"
          data-test-alerts
          aria-disabled={state === 'sending'}
          onClick={() => void send()}
        >
          {state === 'sending' ? text.testing : text.test}
        </button>
      </p>
      <div role="status">
        {said.map(line => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </>
  )
}
