/** What `npm install` of the packed tarballs leaves in a folder, without the registry: the server unpacked from its tarball, the client as it is built, links to the rest. */

import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildClient } from '../../client/build.ts'
import { packProject, run } from '../harness/packed.ts'
import type { Playground } from '../harness/playground.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const OTHERS = ['react', 'react-dom', 'scheduler']

export async function linkPackages(playground: Playground, folder: string): Promise<void> {
  const { folder: packed, tarball } = packProject(playground)
  run(packed, 'tar', 'xzf', tarball)
  const server = join(packed, 'package')
  symlinkSync(join(ROOT, 'node_modules'), join(server, 'node_modules'))
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(server, join(modules, 'stampede'))
  symlinkSync(join(server, 'bin/stampede.mjs'), join(modules, '.bin/stampede'))
  symlinkSync(join(ROOT, 'node_modules/.bin/bun'), join(modules, '.bin/bun'))
  for (const name of OTHERS) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const client = join(modules, 'stampede-client')
  await buildClient(join(client, 'dist'))
  cpSync(join(ROOT, 'client/package.json'), join(client, 'package.json'))
}
