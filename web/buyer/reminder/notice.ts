/** Notifications of the page itself. On Android browsers show them only for a service worker, which the page has not: there they count as absent. */

let refused = false

export function mayNotify(): boolean {
  return !refused && 'Notification' in globalThis && Notification.permission === 'granted'
}

/** By a press of the buyer. Asks only where a notification could then be shown. */
export async function askToNotify(): Promise<void> {
  if (!('Notification' in globalThis) || Notification.permission !== 'default') return
  try {
    // Without the permission nothing is shown. It throws where a page can't do this at all.
    new Notification('')
    await Notification.requestPermission()
  } catch {
    refused = true
  }
}

/** One per `tag`, however many tabs show it. */
export function notify(title: string, body: string, tag: string): void {
  if (!mayNotify()) return
  try {
    const shown = new Notification(title, { body, tag })
    shown.onclick = () => {
      window.focus()
      shown.close()
    }
  } catch {
    refused = true
  }
}
