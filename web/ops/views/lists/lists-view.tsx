/** Who is kept out and who is let in: the list, adding to it, and taking off it. */

import { useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatTime } from '../../format.ts'
import type { AccessEntry, AccessList } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { listWords } from '../../words/lists.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { useEvery } from '../controls/hooks.ts'
import { AccessForm } from './access-form.tsx'

const POLL_MS = 5_000

export function ListsView() {
  const text = listWords()
  const [entries, setEntries] = useState<readonly AccessEntry[]>()
  const [asked, setAsked] = useState<AccessEntry>()
  const read = async () => {
    const reply = await get<AccessList>('/api/admin/lists')
    if (reply.kind === 'ok') setEntries(reply.body.lists)
  }
  useEvery(POLL_MS, 'lists', read)
  const remove = async (entry: AccessEntry) => {
    const reply = await call<void>('DELETE', `/api/admin/lists/${entry.id}`)
    if (reply.kind === 'ok') notify('done', text.removed(entry.value))
    await read()
    return reply
  }
  return (
    <>
      <h1 tabIndex={-1}>{text.title}</h1>
      <p class="soft">{text.note}</p>
      {mayRun() && <AccessForm onAdded={() => void read()} />}
      {entries === undefined && <p class="soft">{words().loading}</p>}
      {entries?.length === 0 && (
        <div class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </div>
      )}
      {entries !== undefined && entries.length > 0 && (
        <section class="card" aria-label={text.title}>
          <Rows entries={entries} onRemove={setAsked} />
        </section>
      )}
      {asked !== undefined && (
        <Dialog
          title={text.removeTitle}
          what={text.removeWhat(asked.value)}
          confirm={text.remove}
          act={() => remove(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

interface RowsProps {
  readonly entries: readonly AccessEntry[]
  readonly onRemove: (entry: AccessEntry) => void
}

function Rows({ entries, onRemove }: RowsProps) {
  const text = listWords()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.kind}</th>
          <th scope="col">{text.subject}</th>
          <th scope="col">{text.until}</th>
          <th scope="col">{text.reason}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(entry => (
          <tr key={entry.id} data-entry={entry.id}>
            <td>{text.kinds[entry.kind]}</td>
            <td class="long">
              {text.subjects[entry.subject]}: <span dir="auto">{entry.value}</span>
            </td>
            <td>
              {entry.until === undefined ? text.forGood : <time dateTime={entry.until}>{formatTime(entry.until)}</time>}
            </td>
            <td class="long">
              <span dir="auto">{entry.reason}</span>{' '}
              <span class="soft">
                {text.by} <span dir="auto">{entry.by}</span>
              </span>{' '}
              {mayRun() && (
                <button
                  type="button"
                  class="quiet-button"
                  data-action="remove"
                  aria-label={text.removeOf(entry.value)}
                  onClick={() => onRemove(entry)}
                >
                  {text.remove}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
