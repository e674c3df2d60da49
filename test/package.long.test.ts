/** The package in an empty project, with everything it depends on from the registry: `npm install`, `npx stampede`. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packProject, run, serveBy } from './harness/packed.ts'
import { Playground } from './harness/playground.ts'

setDefaultTimeout(600_000)

const playground = new Playground()
afterEach(() => playground.undo())

test('installs from its tarball into an empty project, and sells', async () => {
  const { folder, tarball } = packProject(playground)
  const shop = join(folder, 'shop')
  mkdirSync(shop)
  writeFileSync(join(shop, 'package.json'), '{"name":"shop","private":true}')
  run(shop, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball)
  expect(run(shop, 'npx', 'stampede', '--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
  const url = await serveBy(playground, shop, ['npx', 'stampede'])
  const { sales } = (await (await fetch(`${url}/api/sales`)).json()) as { sales: unknown[] }
  expect(sales.length).toBeGreaterThan(0)
})
