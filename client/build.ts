/**
 * `npm run client`: makes `client/dist`, what the package consists of: modules for browsers and Node with everything they need inside, and their types.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const HERE = import.meta.dirname
const TSC = resolve(HERE, '../node_modules/typescript/bin/tsc')

export async function buildClient(outdir = resolve(HERE, 'dist')): Promise<void> {
  rmSync(outdir, { recursive: true, force: true })
  const built = await Bun.build({
    entrypoints: ['index', 'button'].map(name => resolve(HERE, `src/${name}.ts`)),
    outdir,
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: { syntax: true, whitespace: true },
  })
  if (!built.success) throw new AggregateError(built.logs, 'the client could not be built')
  writeTypes(outdir)
}

/** Declarations name each other by the files that a package consists of, not by those that we write. */
function writeTypes(outdir: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-client-types-'))
  try {
    const made = spawnSync(process.execPath, [TSC, '-p', HERE, '--outDir', folder], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`the types of the client could not be made:\n${made.stdout}${made.stderr}`)
    const declared = join(folder, 'client/src')
    // The button's own parts are seen by no user of the package.
    for (const name of readdirSync(declared).filter(one => !one.startsWith('button-'))) {
      const text = readFileSync(join(declared, name), 'utf8')
      writeFileSync(join(outdir, name), text.replaceAll(/(from '\.\/[a-z-]+)\.ts'/g, "$1.js'"))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  await buildClient()
  process.stdout.write('wrote client/dist\n')
}
