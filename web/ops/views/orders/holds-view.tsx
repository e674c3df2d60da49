/** A sale's orders that are open and not paid: from where they came, and chosen ones cancelled together. */

import { useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import type { CancelledHolds, Holds } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { holdWords } from '../../words/holds.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { useEvery } from '../controls/hooks.ts'

const POLL_MS = 5_000
/** As many as one call cancels. */
const SHOWN_MAX = 500

type Group = Holds['groups'][number]
type Hold = Holds['holds'][number]

export function HoldsView({ sale }: { readonly sale: string }) {
  const text = holdWords()
  const [found, setFound] = useState<Holds>()
  const [only, setOnly] = useState<Group>()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [asks, setAsks] = useState(false)
  const query = only === undefined ? '' : `&${only.subject}=${encodeURIComponent(only.value)}`
  const read = async () => {
    const reply = await get<Holds>(`/api/admin/sales/${sale}/holds?limit=${SHOWN_MAX}${query}`)
    if (reply.kind === 'ok') setFound(reply.body)
  }
  useEvery(POLL_MS, `holds ${sale} ${query}`, read)
  const shown = found?.holds ?? []
  // What was paid or closed meanwhile is not shown any more, and not chosen.
  const ids = shown.filter(({ id }) => chosen.has(id)).map(({ id }) => id)
  const choose = (some: readonly string[], on: boolean) => {
    const next = new Set(ids)
    for (const id of some)
      if (on) next.add(id)
      else next.delete(id)
    setChosen(next)
  }
  const cancel = async () => {
    const reply = await call<CancelledHolds>('POST', '/api/admin/holds/cancel', { body: { orders: ids } })
    if (reply.kind === 'ok') {
      const { cancelled, kept } = reply.body
      notify('done', text.done(formatCount(cancelled.length), formatCount(kept.length)))
      setChosen(new Set())
    }
    await read()
    return reply
  }
  return (
    <>
      <h1 tabIndex={-1}>{text.title}</h1>
      <p class="soft">{text.note}</p>
      {found === undefined && <p class="soft">{words().loading}</p>}
      {found !== undefined && <Groups groups={found.groups} only={only} onOnly={setOnly} />}
      {found !== undefined && shown.length === 0 && (
        <div class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </div>
      )}
      {shown.length > 0 && (
        <section class="card" aria-label={text.title}>
          {mayRun() && (
            <p class="buttons">
              <button
                type="button"
                data-action="choose-all"
                onClick={() =>
                  choose(
                    shown.map(({ id }) => id),
                    true,
                  )
                }
              >
                {text.chooseAll}
              </button>{' '}
              <button
                type="button"
                data-action="cancel-holds"
                disabled={ids.length === 0}
                onClick={() => setAsks(true)}
              >
                {text.cancel(formatCount(ids.length))}
              </button>
            </p>
          )}
          <Rows holds={shown} chosen={new Set(ids)} onChoose={choose} />
        </section>
      )}
      {asks && (
        <Dialog
          title={text.cancelTitle(formatCount(ids.length))}
          what={text.cancelWhat}
          confirm={text.cancelConfirm}
          act={cancel}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  )
}

interface GroupsProps {
  readonly groups: readonly Group[]
  readonly only: Group | undefined
  readonly onOnly: (group: Group | undefined) => void
}

function Groups({ groups, only, onOnly }: GroupsProps) {
  const text = holdWords()
  if (groups.length === 0) return null
  return (
    <section aria-label={text.groups}>
      <h2>{text.groups}</h2>
      <p class="buttons">
        <button type="button" class="quiet-button" aria-pressed={only === undefined} onClick={() => onOnly(undefined)}>
          {text.all}
        </button>{' '}
        {groups.map(group => (
          <button
            type="button"
            class="quiet-button"
            key={`${group.subject} ${group.value}`}
            data-group={group.value}
            aria-pressed={only?.value === group.value}
            onClick={() => onOnly(group)}
          >
            {text.group(group.value, formatCount(group.orders), formatCount(group.quantity))}
          </button>
        ))}
      </p>
    </section>
  )
}

interface RowsProps {
  readonly holds: readonly Hold[]
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (ids: readonly string[], on: boolean) => void
}

function Rows({ holds, chosen, onChoose }: RowsProps) {
  const text = holdWords()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.buyer}</th>
          <th scope="col">{text.quantity}</th>
          <th scope="col">{text.payBy}</th>
          <th scope="col">{text.from}</th>
        </tr>
      </thead>
      <tbody>
        {holds.map(hold => (
          <tr key={hold.id} data-hold={hold.id}>
            <td class="long">
              {mayRun() && (
                <input
                  type="checkbox"
                  aria-label={text.chooseOne(hold.buyer)}
                  checked={chosen.has(hold.id)}
                  onChange={event => onChoose([hold.id], event.currentTarget.checked)}
                />
              )}{' '}
              <a href={`/ops/orders/${hold.id}`} dir="auto">
                {hold.buyer}
              </a>
            </td>
            <td>{formatCount(hold.quantity)}</td>
            <td>
              <time dateTime={hold.payBy}>{formatTime(hold.payBy)}</time>
            </td>
            <td class="long">{[hold.network ?? text.unknown, ...hold.claims].join(' · ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
