/** `npm run reference`: writes the pages of `docs/reference/` anew. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { PAGES } from './pages.ts'

for (const [path, render] of Object.entries(PAGES)) {
  const file = resolve(import.meta.dirname, '../..', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, render())
  process.stdout.write(`${path}\n`)
}
process.exit(0)
