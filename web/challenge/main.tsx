/**
 * The widget of a challenge provider, alone in a frame: the buyer's page keeps its own strict security policy, and the provider's script runs
 * where the policy allows exactly its hosts. What to show is in the address after `#`; what comes of it is sent to the page around the frame,
 * which must be of this site (`frame-ancestors` lets no other frame it).
 */

interface Terms {
  readonly provider: 'turnstile' | 'hcaptcha'
  readonly siteKey: string
  readonly script: string
  readonly action: string
  readonly cdata: string
}

interface Provider {
  render(container: Element, options: Readonly<Record<string, unknown>>): unknown
}

/** The provider's script calls a function by name when it is ready. */
const READY = 'onChallengeProvider'

function send(message: { readonly token: string } | { readonly failed: true }): void {
  parent.postMessage({ from: 'challenge', ...message }, location.origin)
}

function show(terms: Terms): void {
  const globals = globalThis as unknown as Record<string, unknown>
  const failed = () => send({ failed: true })
  globals[READY] = () => {
    const provider = globals[terms.provider] as Provider
    provider.render(document.querySelector('#widget')!, {
      sitekey: terms.siteKey,
      action: terms.action,
      cData: terms.cdata,
      callback: (token: string) => send({ token }),
      'error-callback': failed,
    })
  }
  const script = document.createElement('script')
  script.src = `${terms.script}?render=explicit&onload=${READY}`
  script.onerror = failed
  document.head.append(script)
}

show(JSON.parse(decodeURIComponent(location.hash.slice(1))) as Terms)
