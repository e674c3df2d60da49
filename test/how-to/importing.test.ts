/** docs/how-to/importing.md, followed to the letter, with links to the packages instead of what npm installs. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { copyMadeData } from '../harness/made-data.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { linkSources } from './linked-sources.ts'

setDefaultTimeout(300_000)

const HOW_TO = 'docs/how-to/importing.md'
const EXAMPLE = resolve(import.meta.dirname, '../../examples/importing')
const playground = new Playground()
afterEach(() => playground.undo())

test('a table is looked at, then made a draft; a list in JSON becomes two', async () => {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const port = String(await freePort())
  const env = { DATA_DIR: dataDir, PORT: port }
  const reader = new Reader(playground, { env, instead: { 8080: port }, done: ['pack', 'install'] })
  await linkSources(reader.folder)
  const printed = await reader.follow(readHowTo(HOW_TO))
  expect(printed).toContain('nothing was made: --dry-run')
  expect(printed).toMatch(/draft.*\s3\s+650\s+650\s+Friday/)
  const { sales } = JSON.parse(printed.trim().split('\n').at(-1)!) as { sales: { name: string; items: unknown[] }[] }
  expect(sales.map(({ name, items }) => [name, items.length])).toEqual([
    ['Saturday', 2],
    ['Sunday', 1],
  ])
})

test('its files are those of the example', () => {
  const files = Object.fromEntries(
    readHowTo(HOW_TO).flatMap(({ kind, name, text }) => (kind === 'file' ? [[name, text]] : [])),
  )
  const own = readdirSync(EXAMPLE).filter(name => name !== 'README.md')
  expect(files).toEqual(Object.fromEntries(own.map(name => [name, readFileSync(join(EXAMPLE, name), 'utf8')])))
})
