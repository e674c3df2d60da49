/** The packages in a reader's folder, quickly: links to the sources of the server, and the client as it is built. That the packed ones work is tested by the how-to for React. */

import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildClient } from '../../client/build.ts'

const ROOT = resolve(import.meta.dirname, '../..')

export async function linkSources(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(ROOT, join(modules, 'stampede'))
  symlinkSync(join(ROOT, 'bin/stampede.mjs'), join(modules, '.bin/stampede'))
  symlinkSync(join(ROOT, 'node_modules/.bin/bun'), join(modules, '.bin/bun'))
  const client = join(modules, 'stampede-client')
  await buildClient(join(client, 'dist'))
  cpSync(join(ROOT, 'client/package.json'), join(client, 'package.json'))
}
