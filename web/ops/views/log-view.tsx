/** The log of operators' actions, newest first. */

import { useState } from 'preact/hooks'
import { formatCount, formatTime } from '../format.ts'
import { readLog } from '../log-book.ts'
import { meaningOf, rawDetails } from '../log-meaning.ts'
import type { LogLine } from '../shapes.ts'
import { store } from '../store.ts'
import { logWords } from '../words/log.ts'
import { words } from '../words.ts'
import { useEvery } from './controls/hooks.ts'

const POLL_MS = 2_000
const SHOWN_MAX = 200

export function LogView() {
  const text = words()
  const [all, setAll] = useState(false)
  useEvery(POLL_MS, 'log', readLog)
  const lines = store.log.toReversed()
  return (
    <>
      <h1 tabIndex={-1}>{text.log}</h1>
      {!store.logLoaded && <p class="soft">{text.loading}</p>}
      {store.logLoaded && lines.length === 0 && <p class="soft">{text.noLog}</p>}
      {lines.length > 0 && (
        <section class="card" aria-label={text.log}>
          <LogLines lines={all ? lines : lines.slice(0, SHOWN_MAX)} />
        </section>
      )}
      <p>
        <a class="button" href="/api/admin/flight?limit=4096" download="stampede-flight.json">
          {text.lastDecisions}
        </a>
      </p>
      {!all && lines.length > SHOWN_MAX && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          {text.showMore(formatCount(lines.length))}
        </button>
      )}
    </>
  )
}

interface LogLinesProps {
  readonly lines: readonly LogLine[]
  /** The sale that all lines are about: it is not named in each. */
  readonly within?: string
}

export function LogLines({ lines, within }: LogLinesProps) {
  const text = words()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.when}</th>
          <th scope="col">{text.who}</th>
          <th scope="col">{text.did}</th>
          <th scope="col">{text.about}</th>
          <th scope="col">{text.details}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <tr key={line.id} data-did={line.action}>
            <td>
              <time dateTime={line.at}>{formatTime(line.at)}</time>
            </td>
            <td dir="auto">{line.by}</td>
            <td>{logWords().actions[line.action] ?? line.action}</td>
            <td class="long">
              <About line={line} within={within} />
            </td>
            <td class="line-details long" dir="auto">
              <Meaning line={line} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** In words; the name of the action and what is stored stand behind it, for who reads the log by program too. */
function Meaning({ line }: { readonly line: LogLine }) {
  const said = meaningOf(
    line,
    store.sales?.find(sale => sale.id === line.sale),
  )
  const raw = rawDetails(line.details)
  return (
    <>
      {said !== '' && <span>{said} </span>}
      <details class="raw">
        <summary>{logWords().raw}</summary>
        <code>{line.action}</code> {raw !== said && raw}
      </details>
    </>
  )
}

function About({ line, within }: { readonly line: LogLine; readonly within: string | undefined }) {
  const text = words()
  const sale = store.sales?.find(one => one.id === line.sale)
  if (line.order !== undefined)
    return (
      <a href={`/ops/orders/${line.order}`}>
        {text.order} {line.order}
      </a>
    )
  const item = sale?.items.find(one => one.id === line.item)
  if (line.sale === undefined || line.sale === within)
    return item === undefined ? null : <span dir="auto">{item.name}</span>
  return (
    <a href={`/ops/sales/${line.sale}`} dir="auto">
      {sale?.name ?? `${text.saleWord} ${line.sale}`}
    </a>
  )
}
