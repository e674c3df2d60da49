/** docs/how-to/react.md, followed to the letter with everything from the registry: packed, installed, bought. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { buyInReactPage } from './react-reader.ts'

setDefaultTimeout(900_000)

const playground = new Playground()
afterEach(() => playground.undo())

test('leads from an empty folder to a page that sells, with what npm installs', async () => {
  const packed = mkdtempSync(join(tmpdir(), 'stampede-packed-'))
  playground.onUndo(() => rmSync(packed, { recursive: true, force: true }))
  const [server, page] = [await freePort(), await freePort()]
  const reader = new Reader(playground, {
    env: { DATA_DIR: playground.dataDir(), PORT: String(server) },
    // What this project itself needs is installed: these very sources run the test.
    instead: { 'npm ci\n': '', '/tmp': packed, 8080: String(server), 3000: String(page) },
  })
  expect(await reader.follow(readHowTo('docs/how-to/react.md'))).toContain('Autumn evening')
  await buyInReactPage(playground, `http://localhost:${page}`)
})
