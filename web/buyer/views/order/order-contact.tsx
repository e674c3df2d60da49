/** The place of the form for the buyer's contact, which is loaded when a sale asks for one. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { loadContact } from '../../later-files.ts'
import type { Sale } from '../../shapes.ts'
import { words } from '../../words.ts'
import { announce } from '../hooks.ts'

interface Props {
  readonly order: string
  /** Undefined: the server says what is missing. */
  readonly fields: Sale['contactFields']
  /** All is said, and the order can be paid; or it is being changed. */
  readonly onSaid: (said: boolean) => void
}

export function OrderContact({ order, fields, onSaid }: Props) {
  const frame = useRef<HTMLDivElement>(null)
  const [failed, setFailed] = useState(false)
  const { locale, payFailed } = words()
  useEffect(() => {
    let wanted = true
    loadContact().then(
      async ({ showContact }) => {
        if (wanted) await showContact(frame.current!, { order, fields, locale, onSaid, announce })
      },
      () => wanted && setFailed(true),
    )
    return () => {
      wanted = false
    }
  }, [order, locale])
  return failed ? <p class="note problem">{payFailed}</p> : <div ref={frame} />
}
