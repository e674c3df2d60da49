/** How far the draw of a line is, and the field for a beacon that an operator enters. */

import { useState } from 'preact/hooks'
import { call, type Unanswered } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong } from '../../refusal.ts'
import type { LineWatch } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { lineWords } from '../../words/line.ts'
import { Dialog } from '../controls/dialog.tsx'
import { Field } from '../controls/field.tsx'

interface DrawFactsProps {
  readonly sale: string
  readonly draw: NonNullable<LineWatch['draw']>
  readonly onDone: () => void
}

export function DrawFacts({ sale, draw, onDone }: DrawFactsProps) {
  const text = lineWords()
  const [asked, setAsked] = useState(false)
  const { beacon, beaconState, root, sealedJoins, drawnAt } = draw
  const named = [beacon?.source, beacon?.round, beacon?.value].filter(part => part !== undefined).join(' · ')
  const facts: readonly (readonly [string, string])[] = [
    [root === undefined ? text.sealsAt : text.sealedAt, formatTime(draw.sealsAt)],
    [text.sealedJoins, sealedJoins === undefined ? text.notSealed : formatCount(sealedJoins)],
    [text.drawnAt, drawnAt === undefined ? text.notDrawn : formatTime(drawnAt)],
    [text.beacon, [named, text.beaconStates[beaconState]].filter(part => part !== '').join('. ')],
    [text.commitment, draw.commitment],
    [text.root, root ?? text.notSealed],
  ]
  return (
    <section class="line-draw" aria-labelledby="line-draw" data-beacon={beaconState}>
      <h2 id="line-draw">{text.draw}</h2>
      <dl class="facts roomy">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{/^[0-9a-f]{64}$/.test(value) ? <code>{value}</code> : value}</dd>
          </div>
        ))}
      </dl>
      {beaconState === 'to_enter' && mayRun() && (
        <p>
          <button type="button" class="button main" data-action="beacon" onClick={() => setAsked(true)}>
            {text.enter}
          </button>
        </p>
      )}
      {asked && (
        <BeaconDialog sale={sale} source={beacon?.source ?? ''} onDone={onDone} onClose={() => setAsked(false)} />
      )}
    </section>
  )
}

interface BeaconDialogProps {
  readonly sale: string
  readonly source: string
  readonly onDone: () => void
  readonly onClose: () => void
}

function BeaconDialog({ sale, source, onDone, onClose }: BeaconDialogProps) {
  const text = lineWords()
  const [value, setValue] = useState('')
  const act = async () => {
    const reply = await call('POST', `/api/admin/sales/${sale}/line/beacon`, { body: { value: value.trim() } })
    if (reply.kind !== 'ok') return reply
    notify('done', text.enterDone)
    onDone()
    void readLog()
    return reply
  }
  const wrong = (failed: Unanswered | undefined) =>
    failed?.kind === 'refused' && failed.field === 'value' ? fieldWrong(failed) : undefined
  return (
    <Dialog
      title={text.enterTitle}
      what={text.enterWhat(source)}
      confirm={text.enterConfirm}
      danger
      safe
      fields={['value']}
      act={act}
      onClose={onClose}
    >
      {failed => <Field label={text.value} name="value" value={value} onInput={setValue} wrong={wrong(failed)} />}
    </Dialog>
  )
}
