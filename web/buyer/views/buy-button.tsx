/**
 * The button, and the note under it. It stays the same element in every state, so it keeps the keyboard focus; a button that can't be pressed
 * has `aria-disabled` instead of disappearing.
 */

import { useEffect, useId } from 'preact/hooks'
import type { ButtonState, Doing } from '../buy/button-state.ts'
import { formatCount, spokenLeft } from '../format.ts'
import type { Item } from '../shapes.ts'
import { store } from '../store.ts'
import { goToSignIn, signInAddress } from '../sync/sign-in.ts'
import { words } from '../words.ts'
import { announce, useLeft, usePrevious } from './hooks.ts'

interface Props {
  readonly item: Item
  readonly state: ButtonState
  readonly doing: Doing
  readonly onPress: () => void
}

export function BuyButton({ item, state, doing, onPress }: Props) {
  const noteId = useId()
  const before = usePrevious(state.kind)
  const untilMs = state.kind === 'cooling' || state.kind === 'limited' ? state.untilMs : 0
  const seconds = formatCount(Math.ceil(useLeft(untilMs) / 1000))
  const { label, note } = textOf(state, doing, item, seconds)
  // Announces a change of state, not every second of it.
  useEffect(() => {
    // The line speaks for itself.
    const spoken = 'note' in state || before === 'in_line' ? undefined : spokenChange(before, state.kind, label, note)
    if (spoken !== undefined) announce(spoken)
  }, [state.kind])
  const live = state.kind === 'live'
  const signInUrl = state.kind === 'signed_out' ? signInAddress() : undefined
  const press =
    'press' in state ? state.press : live ? onPress : signInUrl === undefined ? undefined : () => goToSignIn(signInUrl)
  return (
    <div class="buying">
      <button
        type="button"
        class={`main-button button-${state.kind}`}
        data-state={state.kind}
        aria-disabled={press === undefined}
        aria-describedby={noteId}
        onClick={press}
      >
        {(state.kind === 'sending' || state.kind === 'reserved') && <span class="spinner" aria-hidden="true" />}
        <span>{label}</span>
      </button>
      <p class="note" id={noteId}>
        {note}
      </p>
    </div>
  )
}

function textOf(state: ButtonState, doing: Doing, item: Item, seconds: string): { label: string; note: string } {
  const text = words()
  switch (state.kind) {
    case 'loading':
      return { label: text.loading, note: text.beforeNote }
    case 'away':
      return { label: text.away, note: text.awayNote }
    case 'before':
      return { label: text.before, note: text.beforeNote }
    case 'opening':
      return { label: text.opening, note: text.openingNote }
    case 'live':
      return { label: text.live, note: text.liveNote(spokenLeft(item.payWithinSeconds * 1000)) }
    case 'sending': {
      const again = state.offline ? text.sendingOfflineNote : text.sendingAgainNote
      return {
        label: text.sending,
        note: state.tries > 0 || state.offline || !store.reachable ? again : text.sendingNote,
      }
    }
    case 'reserved':
      return { label: text.reserved, note: text.reservedNote }
    case 'placed':
      return { label: text.yours, note: text.yoursNote }
    case 'paid':
      return { label: text.paid, note: text.paidNote }
    case 'sold_out':
      return { label: text.soldOut, note: item.mayReturn === false ? text.allPaidNote : text.soldOutNote }
    case 'over':
      return { label: text.over, note: text.overNote }
    case 'paused':
      return { label: text.paused, note: state.opened ? text.pausedNote : text.pausedBeforeNote }
    case 'limited':
      return { label: text.limited(seconds), note: text.limitedNote }
    case 'cooling': {
      const why = doing.kind === 'cooling' ? doing.why : ''
      return { label: text.cooling(seconds), note: text.coolingNotes[why] ?? text.coolingNotes.other ?? '' }
    }
    case 'offline':
      return { label: text.offline, note: text.offlineNote }
    case 'signed_out':
      return { label: text.signedOut, note: signInAddress() === undefined ? text.signedOutNote : text.signInNote }
    case 'attempts_used':
      return { label: text.attemptsUsed, note: text.attemptsUsedNote }
    default:
      return { label: state.label ?? '', note: state.note ?? '' }
  }
}

/** The announcement when the button changes by itself, if any. */
function spokenChange(before: string | undefined, now: string, label: string, note: string): string | undefined {
  if (before === undefined || before === now || (before === 'loading' && now !== 'away')) return undefined
  if (now === 'live') {
    if (before === 'opening' || before === 'before') return words().saidOpen
    return before === 'sold_out' ? words().saidBack : label
  }
  return now === 'cooling' ? note : `${label}. ${note}`
}
