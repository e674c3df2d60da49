/** docs/how-to/fulfilling.md, followed to the letter, with links to the packages instead of what npm installs: each order becomes one parcel, whoever brings it. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { copyMadeData } from '../harness/made-data.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { linkSources } from './linked-sources.ts'

setDefaultTimeout(300_000)

const HOW_TO = 'docs/how-to/fulfilling.md'
const EXAMPLE = resolve(import.meta.dirname, '../../examples/fulfilling')
const playground = new Playground()
afterEach(() => playground.undo())

test('paid orders are taken once, by asking and by webhook; one is sent, one refunded and stopped, one waits', async () => {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const reader = new Reader(playground, {
    env: { DATA_DIR: dataDir },
    instead: { 8080: String(await freePort()), 4000: String(await freePort()) },
    done: ['pack', 'install'],
  })
  await linkSources(reader.folder)
  const printed = await reader.follow(readHowTo(HOW_TO))
  const namesIn = (folder: string) =>
    readdirSync(join(reader.folder, folder)).map(
      file => JSON.parse(readFileSync(join(reader.folder, folder, file), 'utf8')).contact.name as string,
    )
  expect(namesIn('to-send')).toEqual(['cleo'])
  expect([...namesIn('sent'), ...namesIn('stopped')].sort()).toEqual(['ann', 'ben'])
  expect(printed).toContain('1 Main Street\nSpringfield')
})

test('its files are those of the example', () => {
  const files = Object.fromEntries(
    readHowTo(HOW_TO).flatMap(({ kind, name, text }) => (kind === 'file' ? [[name, text]] : [])),
  )
  const own = readdirSync(EXAMPLE).filter(name => name !== 'README.md')
  expect(files).toEqual(Object.fromEntries(own.map(name => [name, readFileSync(join(EXAMPLE, name), 'utf8')])))
})
