/** A new secret, shown once: until the operator has stored it, or leaves the page. */

import { useEffect, useRef } from 'preact/hooks'
import { notify } from '../../store.ts'
import { webhookWords } from '../../words/webhooks.ts'

export function SecretPanel({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) {
  const text = webhookWords()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [secret])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret)
      notify('done', text.copied)
    } catch {
      // Without HTTPS there is no clipboard: the text can be selected.
      getSelection()?.selectAllChildren(document.getElementById('webhook-secret')!)
    }
  }
  return (
    <section class="card" aria-labelledby="webhook-secret-title" data-secret>
      <h2 id="webhook-secret-title" tabIndex={-1} ref={heading}>
        {text.secretTitle}
      </h2>
      <p>{text.secretNote}</p>
      <p>
        <code id="webhook-secret" class="secret">
          {secret}
        </code>
      </p>
      <p class="ways">
        <button type="button" class="button" onClick={() => void copy()}>
          {text.copy}
        </button>
        <button type="button" class="button main" onClick={onDone}>
          {text.secretDone}
        </button>
      </p>
    </section>
  )
}
