/**
 * A challenge provider on this machine that speaks siteverify as Turnstile and hCaptcha do: it mints tokens for its widget, verifies each of them
 * once (with an idempotency key again), says where they were solved, and can fail, hang and lie. Its script is a widget with one button.
 */

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Solved {
  readonly hostname?: string
  readonly action?: string
  readonly cdata?: string
}

export const PROVIDER_SECRET = '0x4AAAAAAA-secret-of-the-provider'
export const PROVIDER_SITE_KEY = '0x4AAAAAAA-site-key'

/** Bytes of the widget's script; the page finds it under the provider's name. */
const script = (name: string) => `
globalThis.${name} = {
  render(box, options) {
    const button = document.createElement('button')
    button.textContent = 'I am a person'
    button.onclick = async () => {
      const told = new URLSearchParams({ hostname: location.hostname, action: options.action, cdata: options.cData })
      const answer = await fetch(new URL('/mint?' + told, ${JSON.stringify('%origin%')}), { method: 'POST' })
      options.callback(await answer.text())
    }
    box.append(button)
  },
}
globalThis[new URL(document.querySelector('script[src*="api.js"]').src).searchParams.get('onload')]()
`

export async function startWidgetProvider(name: 'turnstile' | 'hcaptcha' = 'turnstile') {
  const minted = new Map<string, Solved>()
  const used = new Map<string, string | null>()
  const heard: URLSearchParams[] = []
  const state = {
    /** What becomes of the checks; undefined: it answers as it should. */
    instead: undefined as ((response: ServerResponse) => void) | undefined,
  }
  const refusal = (code: string) => ({ success: false, 'error-codes': [code] })

  function mint(solved: Solved): string {
    const token = `token-${minted.size + 1}`
    minted.set(token, solved)
    return token
  }

  function verdictOn(form: URLSearchParams): unknown {
    const token = form.get('response') ?? ''
    const key = form.get('idempotency_key')
    const solved = minted.get(token)
    if (form.get('secret') !== PROVIDER_SECRET) return refusal('invalid-input-secret')
    if (solved === undefined) return refusal('invalid-input-response')
    if (used.has(token) && (key === null || used.get(token) !== key)) return refusal('timeout-or-duplicate')
    used.set(token, key)
    return { success: true, challenge_ts: '2026-01-01T00:00:00Z', 'error-codes': [], ...solved }
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider')
    response.setHeader('access-control-allow-origin', '*')
    if (url.pathname === '/api.js')
      return void response
        .writeHead(200, { 'content-type': 'text/javascript' })
        .end(script(name).replace('%origin%', `http://${request.headers.host}`))
    if (url.pathname === '/mint') return void response.end(mint(Object.fromEntries(url.searchParams)))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
    heard.push(form)
    if (state.instead !== undefined) state.instead(response)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(verdictOn(form)))
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    verifyUrl: `${origin}/siteverify`,
    script: `${origin}/api.js`,
    mint,
    heard,
    state,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
