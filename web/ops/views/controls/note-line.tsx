/** The result of the last action. Announced once, and shown until it is dismissed or replaced. */

import { formatTime } from '../../format.ts'
import { store } from '../../store.ts'
import { words } from '../../words.ts'

export function NoteLine() {
  const text = words()
  const { note } = store
  return (
    <div role="status" class="note-place">
      {note !== undefined && (
        <p class={`note note-${note.kind}`} data-note={note.kind}>
          <span dir="auto">{note.text}</span>
          <time class="soft">{formatTime(new Date(note.atMs).toISOString())}</time>
          <button
            type="button"
            class="quiet-button"
            onClick={() => {
              store.note = undefined
              store.changed()
            }}
          >
            {text.dismiss}
          </button>
        </p>
      )}
    </div>
  )
}
