/** docs/how-to/react.md, followed to the letter, with the packed packages linked instead of installed; then bought in a real browser. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { copyMadeData } from '../harness/made-data.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { linkPackages } from './linked-packages.ts'
import { buyInReactPage } from './react-reader.ts'

setDefaultTimeout(300_000)

const HOW_TO = 'docs/how-to/react.md'
const EXAMPLE = resolve(import.meta.dirname, '../../examples/react')
const playground = new Playground()
afterEach(() => playground.undo())

test('leads from an empty folder to a page that sells', async () => {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const [server, page] = [await freePort(), await freePort()]
  const reader = new Reader(playground, {
    env: { DATA_DIR: dataDir, PORT: String(server) },
    // The sale opens sooner than printed: the test has nothing to read.
    instead: { 8080: String(server), 3000: String(page), '+20s': '+8s' },
    done: ['pack', 'install'],
  })
  await linkPackages(playground, reader.folder)
  const printed = await reader.follow(readHowTo(HOW_TO))
  expect(printed).toContain('Autumn evening')
  expect(existsSync(join(reader.folder, 'dist/index.html'))).toBe(true)
  await buyInReactPage(playground, `http://localhost:${page}`)
})

test('its files are those of the example', () => {
  const files = Object.fromEntries(
    readHowTo(HOW_TO).flatMap(({ kind, name, text }) => (kind === 'file' ? [[name, text]] : [])),
  )
  const own = readdirSync(EXAMPLE).filter(name => name !== 'README.md')
  expect(files).toEqual(Object.fromEntries(own.map(name => [name, readFileSync(join(EXAMPLE, name), 'utf8')])))
})
