/** docs/how-to/going-live.md, followed to the letter, with links to the packages instead of what npm installs. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { copyMadeData } from '../harness/made-data.ts'
import { Playground } from '../harness/playground.ts'
import { Reader, readHowTo } from './how-to.ts'
import { linkSources } from './linked-sources.ts'

setDefaultTimeout(600_000)

const playground = new Playground()
afterEach(() => playground.undo())

test('from secrets to a rehearsal, a start, a backup that was restored, and the check that says what is missing', async () => {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const port = String(await freePort())
  const env = { DATA_DIR: dataDir, PORT: port }
  const reader = new Reader(playground, { env, instead: { 8080: port }, done: ['pack', 'install'] })
  await linkSources(reader.folder)
  const printed = await reader.follow(readHowTo('docs/how-to/going-live.md'))
  expect(statSync(join(reader.folder, 'live.env')).mode & 0o077).toBe(0)
  expect(printed).toMatch(/^GREEN: sold 50 of 50/m)
  expect(existsSync(join(reader.folder, 'restored'))).toBe(true)
  // What the how-to has seen to is good; the address of an example is not.
  for (const good of ['sandbox', 'guests', 'demo', 'sign-in', 'operator tokens', 'proxy'])
    expect(printed).toMatch(new RegExp(`^ok +live: ${good} `, 'm'))
  expect(printed).toMatch(/^BAD +live: certificate /m)
  expect(printed).toContain('not yet')
})
