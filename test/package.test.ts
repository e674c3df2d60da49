/** What `npm pack` makes: enough to sell with, and nothing that only this project needs. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { packProject, run, serveBy } from './harness/packed.ts'
import { Playground } from './harness/playground.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '..')
const ROOMS = ['LICENSE', 'README.md', 'README.zh-CN.md', 'bin', 'dist', 'docs', 'package.json', 'src']
const playground = new Playground()
afterEach(() => playground.undo())

test('holds no tests, benches or sources of the pages, and serves all of them', async () => {
  const { folder, tarball } = packProject(playground)
  run(folder, 'tar', 'xzf', tarball)
  const files = run(folder, 'tar', 'tzf', tarball).trim().split('\n')
  const rooms = new Set(files.map(path => path.split('/')[1]))
  expect([...rooms].sort()).toEqual(ROOMS)
  expect(files.filter(path => /\.(test|contract|fixture)\.ts$|\/contract\/|\.(tsx|css|html)$/.test(path))).toEqual([])

  const unpacked = join(folder, 'package')
  symlinkSync(join(ROOT, 'node_modules'), join(unpacked, 'node_modules'))
  const url = await serveBy(playground, unpacked, ['node', 'bin/stampede.mjs'])
  for (const path of ['/', '/ops', '/docs', '/button.js']) {
    const answer = await fetch(url + path)
    expect({ path, status: answer.status }).toEqual({ path, status: 200 })
    expect((await answer.text()).length).toBeGreaterThan(500)
  }
})
