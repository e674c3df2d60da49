/** A challenge provider in the place of the proof of work, over HTTP and in a browser. Its widget and its checks are of a server on this machine. */

import { afterAll, afterEach, expect, test } from 'bun:test'
import { barriers, button } from '../harness/browser.ts'
import { gauge } from '../harness/gauges.ts'
import { PROVIDER_SECRET, PROVIDER_SITE_KEY, startWidgetProvider } from '../harness/widget-provider.ts'
import { pageStage } from './page-shop.ts'

const provider = await startWidgetProvider()
afterAll(provider.stop)
afterEach(() => {
  provider.state.instead = undefined
})

const stage = pageStage({
  CHALLENGE_PROVIDER: 'turnstile',
  CHALLENGE_SITE_KEY: PROVIDER_SITE_KEY,
  CHALLENGE_SECRET: PROVIDER_SECRET,
  CHALLENGE_HOSTNAMES: '127.0.0.1,localhost',
  CHALLENGE_VERIFY_URL: provider.verifyUrl,
  CHALLENGE_SCRIPT_URL: provider.script,
  CHALLENGE_TIMEOUT_MS: '60000',
})

async function post(path: string, token: string, body: unknown = {}) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(stage.shop.url() + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

test('a ticket is given for what the widget gave, once, and the refusal says which challenge it is', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }], { challenge: 'auto' })
  const path = `/api/sales/${sale.id}/items/${sale.items[0]?.id}/ticket`
  const guest = async (buyer: string) => {
    const answer = await fetch(`${stage.shop.url()}/api/session`, { method: 'POST', body: JSON.stringify({ buyer }) })
    return ((await answer.json()) as { token: string }).token
  }
  const [ann, bob] = [await guest('ann'), await guest('bob')]
  const asked = await post(path, ann)
  expect(asked).toMatchObject({ status: 403, body: { code: 'challenge_required', challengeKind: 'provider' } })
  const terms = asked.body.challenge as { action: string; cdata: string; siteKey: string }
  expect(terms.siteKey).toBe(PROVIDER_SITE_KEY)
  const token = provider.mint({ hostname: 'localhost', action: terms.action, cdata: terms.cdata })
  expect((await post(path, ann, { challenge: { token } })).status).toBe(201)
  // An answer that was lost: the same token, the same buyer, the same ticket.
  expect((await post(path, ann, { challenge: { token } })).status).toBe(201)
  expect(await post(path, bob, { challenge: { token } })).toMatchObject({
    status: 403,
    body: { code: 'challenge_invalid' },
  })
  const elsewhere = provider.mint({ hostname: 'evil.example', action: terms.action, cdata: terms.cdata })
  expect((await post(path, ann, { challenge: { token: elsewhere } })).body.code).toBe('challenge_invalid')
  provider.state.instead = response => void response.writeHead(500).end()
  const fresh = provider.mint({ hostname: 'localhost', action: terms.action, cdata: terms.cdata })
  expect(await post(path, ann, { challenge: { token: fresh } })).toMatchObject({ status: 503, body: { code: 'busy' } })
  provider.state.instead = undefined
  expect((await post(path, ann, { challenge: { token: fresh } })).status).toBe(201)
  expect(await gauge(stage.shop.site, 'stampede_challenges_total{outcome="unknown"}')).toBe(1)
})

test('the page shows the widget in a frame, and what it gives opens the button', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }], { challenge: 'auto' })
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  const widget = page.frameLocator('.check iframe').getByRole('button')
  await widget.waitFor()
  expect(await barriers(page)).toEqual([])
  await widget.click()
  await page.locator('.panel-pending').waitFor()
  expect(await page.locator('.check').count()).toBe(0)
  expect(visitor.complaints().filter(line => !line.includes('403') && !line.includes(provider.origin))).toEqual([])
  await visitor.context.close()
})

test("only the frame may load from the provider's host, and only this site may frame it", async () => {
  const policy = async (path: string) =>
    (await fetch(stage.shop.url() + path)).headers.get('content-security-policy') ?? ''
  expect(await policy('/')).not.toContain(provider.origin)
  const framed = await policy('/challenge')
  expect(framed).toContain(`script-src 'self' ${provider.origin};`)
  expect(framed).toContain(`frame-src ${provider.origin};`)
  expect(framed).toContain("frame-ancestors 'self'")
})
