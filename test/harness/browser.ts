/**
 * A real browser with people in front of it. Whatever a page complains about is collected: errors on its console, broken rules of its
 * content security policy, requests to other sites. What belongs to a test (refusals, a network that is cut) it says beforehand.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Playground } from './playground.ts'

const CHROMIUM = '/usr/bin/chromium'
/** For whatever a test waits for on a page: many times what a quiet machine needs, because a test run loads the machine it is on. */
const WAIT_MS_MAX = 120_000

const ARGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]

/** A refusal is an answer: browsers write it on the console, and it is no complaint of the page. */
const REFUSED = /^Failed to load resource: the server responded with a status of (401|404|409|410|429|503)\b/
const CUT = /net::ERR_|^WebSocket connection to /

export interface VisitorOptions extends BrowserContextOptions {
  /** The test cuts the network, or takes the server away. */
  readonly cut?: boolean
}

/** A person with a browser of their own: cookies and storage are theirs, tabs share them. */
export interface Visitor {
  readonly context: BrowserContext
  tab(path?: string): Promise<Page>
  /** Everything that should not have happened, in words. */
  complaints(): readonly string[]
  /** Paths of the orders that were asked for, over all tabs. */
  ordersSent(): number
}

export async function openBrowser(playground: Playground) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: WAIT_MS_MAX })
  playground.onUndo(() => browser.close())

  async function visitor(url: () => string, { cut = false, ...options }: VisitorOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
    context.setDefaultTimeout(WAIT_MS_MAX)
    const complaints: string[] = []
    let sent = 0
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', event => {
        console.error(`policy broken: ${event.violatedDirective} ${event.blockedURI}`)
      })
    })
    context.on('console', message => {
      if (message.type() !== 'error' && message.type() !== 'warning') return
      const text = message.text()
      if ((REFUSED.test(text) && message.location().url.includes('/api/')) || (cut && CUT.test(text))) return
      complaints.push(`${message.type()}: ${text} (${message.location().url})`)
    })
    context.on('weberror', ({ error }) => void complaints.push(`exception: ${error().stack ?? error()}`))
    context.on('request', request => {
      if (request.method() === 'POST' && /\/items\/\d+\/orders$/.test(request.url())) sent += 1
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).host !== new URL(url()).host)
        complaints.push(`a request to another site: ${request.url()}`)
    })
    return {
      context,
      complaints: () => complaints,
      ordersSent: () => sent,
      async tab(path = '/') {
        const page = await context.newPage()
        await page.goto(url() + path)
        return page
      },
    }
  }

  return { visitor }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeFinding {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** What stands between this page and people who see, hear or move differently, one line each. */
export async function barriers(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource)
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: readonly AxeFinding[]
  }
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(node => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`),
  )
}

/** The button of the item shown, in the named state. */
export function button(page: Page, state: string) {
  return page.locator(`.main-button[data-state="${state}"]`)
}
