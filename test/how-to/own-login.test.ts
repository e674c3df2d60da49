/** docs/how-to/own-login.md, followed to the letter, with links to the packages instead of what npm installs; then signed in and bought in a real browser. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { button, openBrowser } from '../harness/browser.ts'
import { freePort } from '../harness/free-port.ts'
import { copyMadeData } from '../harness/made-data.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { linkSources } from './linked-sources.ts'

setDefaultTimeout(300_000)

const HOW_TO = 'docs/how-to/own-login.md'
const EXAMPLE = resolve(import.meta.dirname, '../../examples/own-login')
const playground = new Playground()
afterEach(() => playground.undo())

test('a customer signs in at the shop, comes back, and buys', async () => {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const port = String(await freePort())
  const reader = new Reader(playground, {
    env: { DATA_DIR: dataDir },
    instead: { 8080: port, 4000: String(await freePort()) },
    done: ['pack', 'install'],
  })
  await linkSources(reader.folder)
  const printed = await reader.follow(readHowTo(HOW_TO))
  expect(printed).toContain('"buyer":"ann"')

  const url = `http://localhost:${port}`
  const { visitor } = await openBrowser(playground)
  const ben = await visitor(() => url)
  const { sales } = (await (await fetch(`${url}/api/sales`)).json()) as { sales: { id: string }[] }
  const page = await ben.tab(`/s/${sales[0]!.id}`)
  await page
    .getByRole('link', { name: /sign in/i })
    .or(page.getByRole('button', { name: /sign in/i }))
    .first()
    .click()
  await page.locator('[name=name]').fill('ben')
  await page.locator('[name=password]').fill('tea for ben')
  await page.getByRole('button').click()
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  expect(page.url()).not.toContain('token')
  await ben.context.close()
})

test('its files are those of the example', () => {
  const files = Object.fromEntries(
    readHowTo(HOW_TO).flatMap(({ kind, name, text }) => (kind === 'file' ? [[name, text]] : [])),
  )
  const own = readdirSync(EXAMPLE).filter(name => name !== 'README.md')
  expect(files).toEqual(Object.fromEntries(own.map(name => [name, readFileSync(join(EXAMPLE, name), 'utf8')])))
})
