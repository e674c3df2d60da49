/** Shown while something is loading, or when there is nothing. */

import { words } from '../words.ts'

export function Loading() {
  return (
    <p class="empty" role="status">
      <span class="spinner" aria-hidden="true" />
      <span class="unseen">{words().loading}</span>
    </p>
  )
}

export function Empty({ title, note, home = false }: { title: string; note: string; home?: boolean }) {
  return (
    <div class="empty">
      <h1 tabIndex={-1}>{title}</h1>
      <p class="note">{note}</p>
      {home && (
        <p>
          <a href="/">{words().toSales}</a>
        </p>
      )}
    </div>
  )
}
