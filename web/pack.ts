/** Before `npm pack`: the pages are built into `dist/pages.json`, because the package holds no sources of them. */

import { mkdir, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ASSETS_PATH } from '../src/edge/pages.ts'
import { buildPages } from './build.ts'

const folder = resolve(import.meta.dirname, '../dist')
await mkdir(folder, { recursive: true })
await writeFile(resolve(folder, 'pages.json'), JSON.stringify(await buildPages(ASSETS_PATH)))
process.exit(0)
