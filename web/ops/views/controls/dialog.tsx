/**
 * Asks for confirmation of an action: what it is and what will happen. Stays open with the server's text when the action is refused; closes when
 * it is done. Escape and "Not now" do nothing.
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Reply, Unanswered } from '../../api.ts'
import { wholeWrong } from '../../refusal.ts'
import { words } from '../../words.ts'

interface DialogProps {
  readonly title: string
  readonly what: string
  readonly confirm: string
  readonly danger?: boolean
  /** Idempotent: pressing again does not do it twice. */
  readonly safe?: boolean
  /** Names of its fields; each shows its own refusal. */
  readonly fields?: readonly string[]
  readonly children?: (failed: Unanswered | undefined) => ComponentChildren
  /** Undefined: a field is wrong and shows it. */
  readonly act: () => Promise<Reply<unknown> | undefined>
  readonly onClose: () => void
}

export function Dialog({ title, what, confirm, danger, safe, fields, children, act, onClose }: DialogProps) {
  const text = words()
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [working, setWorking] = useState(false)
  const [failed, setFailed] = useState<Unanswered>()
  useEffect(() => {
    const opener = document.activeElement
    box.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  const go = async () => {
    if (working) return
    setWorking(true)
    const reply = await act()
    setWorking(false)
    if (reply === undefined) return
    if (reply.kind === 'ok') onClose()
    else setFailed(reply)
  }
  const general = failed?.kind === 'refused' && fields?.includes(failed.field ?? '') ? undefined : failed
  return (
    <dialog
      ref={box}
      class="dialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-what`}
      onCancel={event => {
        event.preventDefault()
        if (!working) onClose()
      }}
    >
      <form
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void go()
        }}
      >
        <h2 id={`${id}-title`} dir="auto">
          {title}
        </h2>
        <p id={`${id}-what`}>{what}</p>
        {children?.(failed)}
        {general !== undefined && (
          <p class="refused" role="alert">
            {general.kind === 'refused' ? wholeWrong(general) : safe ? text.lostSafe : text.lost}
          </p>
        )}
        <div class="dialog-ways">
          <button type="button" class="button" onClick={() => !working && onClose()}>
            {text.cancel}
          </button>
          <button type="submit" class={danger ? 'button danger' : 'button main'} aria-disabled={working}>
            {working ? text.working : confirm}
          </button>
        </div>
      </form>
    </dialog>
  )
}
