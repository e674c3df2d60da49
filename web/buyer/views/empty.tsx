/** Shown while something is loading, or when there is nothing. */

import type { ComponentChildren } from 'preact'
import { words } from '../words.ts'

export function Loading() {
  return (
    <p class="empty" role="status">
      <span class="spinner" aria-hidden="true" />
      <span class="unseen">{words().loading}</span>
    </p>
  )
}

interface EmptyProps {
  readonly title: string
  readonly note: string
  readonly home?: boolean
  readonly children?: ComponentChildren
}

export function Empty({ title, note, home = false, children }: EmptyProps) {
  return (
    <div class="empty">
      <h1 tabIndex={-1}>{title}</h1>
      <p class="note">{note}</p>
      {children}
      {home && (
        <p>
          <a href="/">{words().toSales}</a>
        </p>
      )}
    </div>
  )
}
