/**
 * The version after this one adds a field to the outbox's entries. Its edges write them while this version's workers still read: that is
 * a rolling upgrade halfway. A worker that took the field for damage would bury every reservation.
 */

import { afterEach, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stage } from '../cluster/stage.ts'
import { Cluster } from '../harness/cluster.ts'
import { Playground } from '../harness/playground.ts'
import { Current, folderOf, ROOT } from './landed.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** This version, with one more field in each entry. */
function nextVersion(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-next-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  for (const part of ['src', 'web', 'bin', 'docs']) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  for (const part of ['package.json', 'tsconfig.json', 'node_modules'])
    symlinkSync(join(ROOT, part), join(folder, part))
  const script = join(folder, 'src/gate/redis/scripts/reserve.lua')
  const text = readFileSync(script, 'utf8')
  const begin = text.indexOf("redis.call('XADD'")
  const next = `${text.slice(0, begin)}${text.slice(begin).replaceAll("'asks', written)", "'asks', written, 'region', 'eu')")}`
  expect(next).not.toBe(text)
  writeFileSync(script, next)
  return folder
}

test('entries that the next version writes with a field more are placed by this version, and none is buried', async () => {
  const next = nextVersion()
  const current = new Current(playground, next)
  const cluster = await Cluster.start(playground, {
    edges: 1,
    workers: 1,
    keepers: 1,
    envFor: role => (role === 'edge' ? current.env : {}),
  })
  expect(folderOf(cluster.edges()[0]!.server().pid)).toBe(next)
  // Its sources, or within a whole run the program compiled from them.
  expect(folderOf(cluster.of('worker')[0]!.server().pid)).not.toBe(next)
  const stage = await Stage.set(cluster, { units: 10, buyers: 12 })
  const outcomes = await stage.everybodyBuys()
  await stage.judge(outcomes)
  expect(await cluster.sql('SELECT entry, why FROM dead_letters')).toEqual([])
}, 120_000)
