/** Adds or removes units. Has an idempotency key, so that pressing again after a lost answer does not change the stock twice. */

import { useState } from 'preact/hooks'
import { call, newKey, type Unanswered } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong } from '../../refusal.ts'
import type { Audit, Item, Sale, StockChange } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { Field } from '../controls/field.tsx'

interface StockProps {
  readonly sale: Sale
  readonly item: Item
  readonly audit: Audit | undefined
  readonly onDone: () => void
  readonly onClose: () => void
}

export function StockDialog({ sale, item, audit, onDone, onClose }: StockProps) {
  const text = words()
  const [delta, setDelta] = useState('')
  const [reason, setReason] = useState('')
  const [key, setKey] = useState(newKey)
  const [notNumber, setNotNumber] = useState(false)
  // A different value is a different change.
  const changed = (set: (value: string) => void) => (value: string) => {
    set(value)
    setKey(newKey())
    setNotNumber(false)
  }
  const act = async () => {
    const typed = delta.trim().replace('−', '-')
    if (!/^[+-]?\d{1,15}$/.test(typed)) {
      setNotNumber(true)
      return undefined
    }
    const path = `/api/admin/sales/${sale.id}/items/${item.id}/stock`
    const reply = await call<StockChange>('POST', path, {
      body: { delta: Number(typed), reason },
      key,
    })
    if (reply.kind !== 'ok') return reply
    const { taken, shortfall } = reply.body
    const done = text.stockDone(item.name, `${taken > 0 ? '+' : ''}${formatCount(taken)}`)
    notify('done', shortfall > 0 ? `${done} ${shortOf(shortfall, -taken)}` : done)
    onDone()
    void readLog()
    return reply
  }
  // As last read; who bought in the meantime is not in it.
  const counts = audit && [audit.available, audit.paid, audit.pending].map(formatCount)
  const shortOf = (missing: number, left: number) =>
    counts === undefined
      ? text.stockShort(formatCount(missing))
      : text.stockShortOf(formatCount(missing), formatCount(left), counts[1]!, counts[2]!)
  const wrongOf = (field: string, failed: Unanswered | undefined) =>
    failed?.kind === 'refused' && failed.field === field ? fieldWrong(failed) : undefined
  return (
    <Dialog
      title={text.stockTitle(item.name)}
      what={text.stockWhat}
      confirm={text.change}
      safe
      fields={['delta', 'reason']}
      act={act}
      onClose={onClose}
    >
      {failed => (
        <>
          <Field
            label={text.delta}
            name="delta"
            value={delta}
            onInput={changed(setDelta)}
            hint={counts && text.stockNow(counts[0]!, counts[1]!, counts[2]!)}
            wrong={notNumber ? text.badNumber : wrongOf('delta', failed)}
          />
          <Field
            label={text.reason}
            name="reason"
            value={reason}
            onInput={changed(setReason)}
            wrong={wrongOf('reason', failed)}
          />
        </>
      )}
    </Dialog>
  )
}
