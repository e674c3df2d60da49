/** An operator at the operations page, in a real browser, on a real server with guests let in. */

import type { Page } from 'playwright-core'
import { openBrowser, type Visitor, type VisitorOptions } from '../harness/browser.ts'
import type { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { openPageShop, type PageShop } from '../page/page-shop.ts'

export interface OpsDesk {
  readonly shop: PageShop
  /** Somebody new at the page, nobody signed in. */
  visitor(options?: VisitorOptions): Promise<Visitor>
  /** Signed in, at the given address. */
  operator(path: string, options?: VisitorOptions): Promise<{ readonly person: Visitor; readonly page: Page }>
}

/** What a browser writes about a refusal that the test has asked for: a wrong token, a field that does not fit. */
const REFUSAL = /Failed to load resource: the server responded with a status of (400|401|409|422|429)/

export async function openOpsDesk(
  playground: Playground,
  env: Readonly<Record<string, string>> = {},
): Promise<OpsDesk> {
  const shop = await openPageShop(playground, env)
  const { visitor } = await openBrowser(playground)
  // One for all of them: signing in is limited, and tests that are about it do it by hand.
  let session: { readonly name: string; readonly value: string } | undefined
  return {
    shop,
    visitor: options => visitor(() => shop.url(), options),
    async operator(path, options) {
      const person = await visitor(() => shop.url(), options)
      session ??= await openSession(shop.url())
      await person.context.addCookies([{ ...session, url: shop.url() }])
      return { person, page: await person.tab(path) }
    },
  }
}

async function openSession(url: string): Promise<{ readonly name: string; readonly value: string }> {
  const response = await fetch(`${url}/ops/session`, {
    method: 'POST',
    headers: { 'x-stampede-ops': '1' },
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  })
  const [name = '', value = ''] = response.headers.get('set-cookie')?.split(';')[0]?.split('=') ?? []
  return { name, value }
}

export async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.locator('input[name=token]').fill(token)
  await page.locator('.sign-in button').click()
  if (token === ADMIN_TOKEN) await page.locator('.sign-in').waitFor({ state: 'detached' })
}

/** Presses a button that asks, and answers yes. Returns what the question said. */
export async function confirm(page: Page, action: string): Promise<string> {
  await page.locator(`main [data-action="${action}"]`).first().click()
  const said = (await page.locator('dialog[open] h2').textContent()) ?? ''
  await page.locator('dialog[open] button[type=submit]').click()
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
  return said
}

/** Nothing is wrong, except that this shop with a key of its own takes its payments through the sandbox. */
export async function allWell(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const found = Array.from(document.querySelectorAll<HTMLElement>('[data-trouble]'), one => one.dataset.trouble)
    return found.join() === 'unsafe_setting'
  })
}

/** What should not have happened, refusals that a test asked for left out. */
export function complaintsOf(person: Visitor): readonly string[] {
  return person.complaints().filter(complaint => !REFUSAL.test(complaint))
}
