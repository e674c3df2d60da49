/** The button that cancels an order. Asks for confirmation first. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { cancel } from '../../buy/paying.ts'
import type { Order } from '../../shapes.ts'
import { words } from '../../words.ts'
import { announce } from '../hooks.ts'

export function CancelOrder({ order }: { readonly order: Order }) {
  const text = words()
  const [step, setStep] = useState<'idle' | 'sure' | 'asking' | 'failed'>('idle')
  const first = useRef<HTMLButtonElement>(null)
  const keep = useRef<HTMLButtonElement>(null)
  const moved = useRef(false)
  useEffect(() => {
    if (!moved.current) return
    if (step === 'sure') keep.current?.focus()
    else if (step !== 'asking') first.current?.focus()
  }, [step])
  const to = (next: typeof step) => {
    moved.current = true
    setStep(next)
  }
  const sure = async () => {
    if (step === 'asking') return
    to('asking')
    if ((await cancel(order)) === 'failed') {
      to('failed')
      announce(words().cancelFailed)
    }
  }
  if (step === 'idle' || step === 'failed') {
    return (
      <>
        {step === 'failed' && <p class="note problem">{text.cancelFailed}</p>}
        <button type="button" class="plain-button" ref={first} onClick={() => to('sure')}>
          {text.cancel}
        </button>
      </>
    )
  }
  return (
    <fieldset class="sure">
      <legend>{text.cancelAsk(order.quantity)}</legend>
      <div class="sure-buttons">
        <button type="button" class="plain-button" ref={keep} onClick={() => to('idle')}>
          {text.cancelNo}
        </button>
        <button type="button" class="plain-button danger" aria-disabled={step === 'asking'} onClick={() => void sure()}>
          {step === 'asking' ? text.cancelling : text.cancelYes}
        </button>
      </div>
    </fieldset>
  )
}
