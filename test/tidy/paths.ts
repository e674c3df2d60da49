/** What a file names beside itself: an import that leads nowhere is found by the compiler, a path in a string is not. */

import { posix } from 'node:path'
import { at, type Rule, tree } from './rule.ts'
import { type File, isTypeScript } from './tree.ts'

/** `new URL('../x', import.meta.url)` and `join(import.meta.dirname, '../x')`. What a build or npm puts there is not looked for. */
const OWN_PATH = /new URL\('([^'$]+)', import\.meta\.url\)|\(import\.meta\.dirname, '([^'$]+)'\)/g
const MADE = /(^|\/)(dist|node_modules)(\/|$)/

function missing(file: File, paths: ReadonlySet<string>): string[] {
  const found: string[] = []
  for (const match of file.text.matchAll(OWN_PATH)) {
    const named = posix.join(posix.dirname(file.path), match[1] ?? match[2] ?? '').replace(/\/$/, '')
    if (!paths.has(named) && !MADE.test(named))
      found.push(`${at(file, match.index)}: names ${named}, which is not there`)
  }
  return found
}

export const ownPathsExist: Rule = {
  name: 'every path that a file names relative to itself is there',
  remedy: 'Mend the path: the file or what it names has moved.',
  check(files) {
    const paths = new Set(['.'])
    for (const { path } of files)
      for (let folder = path; folder !== '.'; folder = posix.dirname(folder)) paths.add(folder)
    return files
      .filter(file => isTypeScript(file) && !file.path.startsWith('test/tidy/'))
      .flatMap(file => missing(file, paths))
  },
  breaks: [
    tree('src/app/start/x.ts', "const MAIN = join(import.meta.dirname, '../main.ts')", 'src/main.ts', ''),
    tree('src/app/x.ts', "readFileSync(new URL('./sql/', import.meta.url))", 'src/ledger/sql/a.sql', ''),
  ],
  keeps: [
    tree('src/app/start/x.ts', "const MAIN = join(import.meta.dirname, '../../main.ts')", 'src/main.ts', ''),
    tree('src/app/x.ts', "readFileSync(new URL('./sql/', import.meta.url))", 'src/app/sql/a.sql', ''),
    tree('src/app/x.ts', "const ROOT = resolve(import.meta.dirname, '../..')"),
    tree('src/edge/x.ts', "new URL('../../dist/pages.json', import.meta.url)"),
  ],
}
