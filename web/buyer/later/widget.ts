/**
 * Shows a provider's widget (`web/challenge`) in a frame at the foot of the page until it has given a token. Loaded where the shop has a
 * challenge provider. One at a time: several items wait for their turn.
 */

interface Labels {
  readonly title: string
  readonly note: string
}

const WAIT_MS_MAX = 10 * 60_000

let turn: Promise<unknown> = Promise.resolve()

/** The token; undefined: the widget failed, or was not solved in time. */
export function askWidget(terms: unknown, labels: Labels): Promise<string | undefined> {
  const asked = turn.then(() => askOne(terms, labels))
  turn = asked
  return asked
}

async function askOne(terms: unknown, labels: Labels): Promise<string | undefined> {
  const frame = document.createElement('iframe')
  frame.title = labels.title
  frame.src = `/challenge#${encodeURIComponent(JSON.stringify(terms))}`
  const note = document.createElement('p')
  note.textContent = labels.note
  const box = document.createElement('section')
  box.className = 'check'
  box.setAttribute('aria-label', labels.title)
  box.append(note, frame)
  const done = new AbortController()
  try {
    return await new Promise(resolve => {
      const timer = setTimeout(() => resolve(undefined), WAIT_MS_MAX)
      done.signal.addEventListener('abort', () => clearTimeout(timer))
      const heard = ({ source, origin, data }: MessageEvent) => {
        if (source !== frame.contentWindow || origin !== location.origin || data?.from !== 'challenge') return
        resolve(typeof data.token === 'string' ? data.token : undefined)
      }
      addEventListener('message', heard, { signal: done.signal })
      document.body.append(box)
    })
  } finally {
    done.abort()
    box.remove()
  }
}
