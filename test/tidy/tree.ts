/** The project's own files as text: what the tidy rules look at. Skips what git ignores and what is not source. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of the project. `path` is from the root, with forward slashes. */
export interface File {
  readonly path: string
  readonly text: string
}

const FOLDERS_SKIPPED = new Set(['node_modules', '.git', 'data'])
/** `.git` is a file in a worktree of its own. */
const FILES_SKIPPED = /(\.log|^\.DS_Store|^\.git)$/
const BINARY = /\.(png|jpg|jpeg|gif|webp|ico|woff2?|gz|zip)$/

export function readTree(root: string): File[] {
  const files: File[] = []
  const walk = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && !FOLDERS_SKIPPED.has(entry.name)) walk(path)
      if (!entry.isFile() || FILES_SKIPPED.test(entry.name)) continue
      files.push({ path, text: BINARY.test(entry.name) ? '' : readFileSync(join(root, path), 'utf8') })
    }
  }
  walk('')
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

export function isTypeScript(file: File): boolean {
  return file.path.endsWith('.ts') || file.path.endsWith('.tsx')
}

/** Unit tests beside the code and everything under test/: free to reach anywhere. */
export function isTest(path: string): boolean {
  return path.startsWith('test/') || /\.test\.tsx?$/.test(path)
}

/** The suites that every adapter of a contract passes: `gate.contract.ts`, and the cases in a `contract/` folder beside it. */
export function isSuite(path: string): boolean {
  return /\.contract\.ts$|^src\/[^/]+\/contract\//.test(path)
}

/** What runs in production, contract suites included: they live by the rules of the code they describe. Fixtures are the tests' own. */
export function isShipped(file: File): boolean {
  return file.path.startsWith('src/') && isTypeScript(file) && !isTest(file.path) && !file.path.endsWith('.fixture.ts')
}
