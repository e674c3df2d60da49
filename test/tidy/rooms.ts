/** Which room of `src` may know which: the import rules, and what belongs to one room only. */

import { EXPORTS_EXCUSED } from './excuses.ts'
import { at, type Rule, tree } from './rule.ts'
import { type Import, sourceOf } from './source.ts'
import { type File, isShipped, isSuite, isTest, isTypeScript } from './tree.ts'

const PARTS = [
  'admission',
  'catalog',
  'gate',
  'ledger',
  'payment',
  'webhooks',
  'alerts',
  'kafka',
  'beacon',
  'pages',
  'telemetry',
]
/** Lower rooms know nothing of higher ones. */
const RANK: Record<string, number> = {
  base: 0,
  domain: 1,
  // The HTTP contract as data: what the server, its clients and the pages have in common.
  wire: 1.2,
  // A client of the server: it knows the promises and no part of what it plays against. Only cli names it.
  rehearsal: 1.5,
  ...Object.fromEntries(PARTS.map(part => [part, 2])),
  flows: 3,
  edge: 4,
  app: 5,
  cli: 6,
}
const COMPOSE = /^src\/app\/compose(-[a-z]+)?\.ts$/
const MAIN = 'src/main.ts'
/** The bundler lies outside src, because it is Bun's; one file of src takes its output. */
const BUNDLER = { by: 'src/edge/pages.ts', target: 'web/build.ts' }

/** The first folder under src, or undefined outside it. */
function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

/** `gate/memory` for src/gate/memory/…: a folder inside a part holds an adapter, the part's own files its contracts. */
function adapterOf(path: string): string | undefined {
  const match = isSuite(path) ? null : /^src\/([^/]+)\/([^/]+)\//.exec(path)
  return match !== null && PARTS.includes(match[1] as string) ? `${match[1]}/${match[2]}` : undefined
}

/** Every import of one project file by another, in what is shipped. */
function* edges(files: readonly File[]): Generator<{ file: File; target: string; index: number }> {
  for (const file of files.filter(isShipped)) {
    for (const { target, index } of sourceOf(file).imports) if (target !== undefined) yield { file, target, index }
  }
}

export const roomsKnown: Rule = {
  name: 'every file of src is in a room that ARCHITECTURE.md shows',
  remedy:
    'Put the file into one of the rooms, or give the new room a rank in test/tidy/rooms.ts and a line in ARCHITECTURE.md.',
  check(files) {
    const picture = files.find(file => file.path === 'ARCHITECTURE.md')?.text ?? ''
    const found: string[] = []
    for (const { path } of files) {
      if (!path.startsWith('src/') || path === MAIN) continue
      const room = roomOf(path)
      if (room === undefined) found.push(`${path}: only main.ts lies outside a room`)
      else if (RANK[room] === undefined) found.push(`${path}: there is no room "${room}"`)
      else if (!picture.includes(`${room}/`)) found.push(`src/${room}: ARCHITECTURE.md does not show ${room}/`)
    }
    return [...new Set(found)]
  },
  breaks: [
    tree('src/shared/x.ts', '', 'ARCHITECTURE.md', 'shared/'),
    tree('src/x.ts', '', 'ARCHITECTURE.md', ''),
    tree('src/base/x.ts', '', 'ARCHITECTURE.md', 'no picture'),
  ],
  keeps: [tree('src/base/x.ts', '', 'src/main.ts', '', 'ARCHITECTURE.md', 'base/  assert, clock')],
}

/** Each tells one part of the story; ARCHITECTURE.md says which. */
const FLOWS = ['sell', 'place', 'follow', 'keep', 'money', 'operate', 'check', 'tell', 'line']

export const flowsInFolders: Rule = {
  name: 'every flow lies in one of the nine folders of src/flows',
  remedy: `Put the file into the folder whose story it belongs to: ${FLOWS.join(', ')}. What two of them need lies in the lower one.`,
  check(files) {
    const flows = files.filter(file => file.path.startsWith('src/flows/'))
    return flows
      .filter(({ path }) => !FLOWS.some(folder => new RegExp(`^src/flows/${folder}/[^/]+$`).test(path)))
      .map(({ path }) => `${path}: not in a folder of its own story`)
  },
  breaks: [
    tree('src/flows/take-order.ts', ''),
    tree('src/flows/shared/x.ts', ''),
    tree('src/flows/sell/orders/take-order.ts', ''),
  ],
  keeps: [tree('src/flows/sell/take-order.ts', '', 'src/flows/sell/take-order.test.ts', '', 'src/gate/x.ts', '')],
}

export const examplesStandAlone: Rule = {
  name: 'an example imports only packages and files of its own folder',
  remedy: 'Copy what it needs into the folder, or use the API: a shop takes the folder and nothing else.',
  check: files =>
    files
      .filter(({ path }) => path.startsWith('examples/') && /\.(mjs|js|ts)$/.test(path))
      .flatMap(file =>
        Array.from(
          file.text.matchAll(/\b(?:from|import\()\s*['"]\.\.\//g),
          ({ index }) => `${at(file, index)}: leaves it`,
        ),
      ),
  breaks: [
    tree('examples/mail/x.mjs', "import { y } from '../../src/base/y.ts'"),
    tree('examples/mail/x.mjs', "const y = await import('../other/y.mjs')"),
  ],
  keeps: [tree('examples/mail/x.mjs', "import http from 'node:http'\nimport { y } from './y.mjs'")],
}

export const importDirection: Rule = {
  name: 'imports point one way: base ← domain ← wire ← parts ← flows ← edge ← app ← cli ← main',
  remedy: 'Move what is needed down, or take it as an argument. See "Who may import whom" in ARCHITECTURE.md.',
  check(files) {
    const found: string[] = []
    for (const { file, target, index } of edges(files)) {
      const to = roomOf(target)
      if (file.path === MAIN) {
        if (to !== 'app' && to !== 'cli') found.push(`${at(file, index)}: main imports app and cli only, not ${target}`)
        continue
      }
      const from = roomOf(file.path)
      if (file.path === BUNDLER.by && target === BUNDLER.target) continue
      if (to === undefined) found.push(`${at(file, index)}: ${target} is outside the rooms of src`)
      else if ((RANK[to] ?? 0) > (RANK[from ?? ''] ?? 0) || (to === 'rehearsal' && from !== to && from !== 'cli'))
        found.push(`${at(file, index)}: ${from} must not know ${to} (${target})`)
    }
    return found
  },
  breaks: [
    tree('src/base/x.ts', "import { y } from '../domain/y.ts'"),
    tree('src/flows/x.ts', "import type { Y } from '../edge/y.ts'"),
    tree('src/domain/x.ts', "export * from '../gate/gate.ts'"),
    tree('src/edge/x.ts', "const y = await import('../app/y.ts')"),
    tree('src/cli/x.ts', "import { y } from '../../test/y.ts'"),
    tree('src/rehearsal/x.ts', "import { y } from '../gate/y.ts'"),
    tree('src/wire/x.ts', "import type { Y } from '../flows/y.ts'"),
    tree('src/wire/x.ts', "import { y } from '../gate/y.ts'"),
    tree('src/domain/x.ts', "import { y } from '../wire/y.ts'"),
    tree('src/edge/x.ts', "import { y } from '../rehearsal/y.ts'"),
    tree('src/main.ts', "import { y } from './flows/y.ts'"),
    tree('src/edge/x.ts', "import { buildPage } from '../../web/build.ts'"),
    tree('src/edge/pages.ts', "import { y } from '../../web/buyer/y.ts'"),
  ],
  keeps: [
    tree(
      'src/flows/x.ts',
      "import { y } from '../gate/gate.ts'\nimport { z } from '../base/z.ts'\nimport { w } from './w.ts'",
    ),
    tree('src/main.ts', "import { y } from './app/y.ts'"),
    tree('src/rehearsal/x.ts', "import { y } from '../domain/y.ts'\nimport type { z } from '../wire/z.ts'"),
    tree('src/wire/x.ts', "import { y } from '../domain/y.ts'\nimport { z } from '../base/z.ts'"),
    tree('src/cli/x.ts', "import { y } from '../rehearsal/y.ts'"),
    tree('src/edge/pages.ts', "import { buildPage } from '../../web/build.ts'"),
    tree('src/base/x.ts', "// import { y } from '../domain/y.ts'\nconst z = `import { y } from '../domain/y.ts'`"),
    tree('src/base/x.test.ts', "import { y } from '../domain/y.ts'"),
  ],
}

export const partsApart: Rule = {
  name: 'parts never import each other',
  remedy: 'Parts meet in flows: let the flow carry the value across, or move the shared idea to domain.',
  check(files) {
    const found: string[] = []
    for (const { file, target, index } of edges(files)) {
      const from = roomOf(file.path) ?? ''
      const to = roomOf(target) ?? ''
      if (from !== to && PARTS.includes(from) && PARTS.includes(to))
        found.push(`${at(file, index)}: ${from} imports ${to} (${target})`)
    }
    return found
  },
  breaks: [
    tree('src/gate/x.ts', "import { y } from '../ledger/y.ts'"),
    tree('src/ledger/postgres/x.ts', "import type { Ask } from '../../gate/gate.ts'"),
  ],
  keeps: [tree('src/ledger/postgres/x.ts', "import { y } from '../y.ts'\nimport { z } from '../../domain/z.ts'")],
}

export const adaptersUnnamed: Rule = {
  name: 'only app/compose.ts and its wings (app/compose-*.ts) name adapters; everybody else sees contracts',
  remedy: 'Import the contract (the file directly in the part) and let app/compose.ts hand the adapter in.',
  check(files) {
    const found: string[] = []
    for (const { file, target, index } of edges(files)) {
      const adapter = adapterOf(target)
      if (adapter === undefined || COMPOSE.test(file.path) || roomOf(file.path) === roomOf(target)) continue
      found.push(`${at(file, index)}: names the adapter ${adapter} (${target})`)
    }
    return found
  },
  breaks: [
    tree('src/flows/x.ts', "import { MemoryGate } from '../gate/memory/memory-gate.ts'"),
    tree('src/edge/x.ts', "import type { Sandbox } from '../payment/sandbox/sandbox.ts'"),
    tree('src/cli/x.ts', "import { migrate } from '../ledger/postgres/connection/migrate.ts'"),
    tree('src/app/lifecycle.ts', "import { start } from '../ledger/embedded/server.ts'"),
  ],
  keeps: [
    tree('src/app/compose.ts', "import { MemoryGate } from '../gate/memory/memory-gate.ts'"),
    tree('src/app/compose-ledger.ts', "import { migrate } from '../ledger/postgres/connection/migrate.ts'"),
    tree('src/flows/x.ts', "import type { Gate } from '../gate/gate.ts'"),
    tree('src/flows/x.test.ts', "import { MemoryGate } from '../gate/memory/memory-gate.ts'"),
    tree('src/gate/memory/x.ts', "import { y } from './y.ts'"),
  ],
}

export const noCycles: Rule = {
  name: 'no file of src depends on itself through others',
  remedy: 'Move what both sides need into a third file that imports neither.',
  check(files) {
    const inSrc = files.filter(file => file.path.startsWith('src/') && isTypeScript(file))
    const graph = new Map(inSrc.map(file => [file.path, targets(sourceOf(file).imports)]))
    const found: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: string[]) => {
      const back = trail.indexOf(path)
      if (back !== -1) {
        found.push(`${path}: ${[...trail.slice(back), path].join(' → ')}`)
        return
      }
      if (done.has(path)) return
      for (const next of graph.get(path) ?? []) if (graph.has(next)) visit(next, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
    return found
  },
  breaks: [
    tree('src/base/a.ts', "import { b } from './b.ts'", 'src/base/b.ts', "import type { A } from './a.ts'"),
    tree(
      'src/base/a.ts',
      "import './b.ts'",
      'src/base/b.ts',
      "export * from './c.ts'",
      'src/base/c.ts',
      "import { a } from './a.ts'",
    ),
  ],
  keeps: [
    tree('src/base/a.ts', "import './b.ts'\nimport './c.ts'", 'src/base/b.ts', "import './c.ts'", 'src/base/c.ts', ''),
  ],
}

function targets(imports: readonly Import[]): string[] {
  return imports.flatMap(one => one.target ?? [])
}

/** Made for tests, and named so: suites that adapters pass, adapters that fail on purpose, models to compare with. */
function isForTests(path: string): boolean {
  return isSuite(path) || /\/(faulty|reference)-[^/]+\.ts$|\.fixture\.ts$/.test(path)
}

/** What users of the package import: its two entries, and the shapes of the API. */
const PACKAGE_ENTRIES = new Set(['client/src/index.ts', 'client/src/button.ts', 'client/src/wire.ts'])

export const exportsUsed: Rule = {
  name: 'no export that nothing imports',
  remedy:
    'Drop the word "export" (or the code). What only tests need belongs in a *.contract.ts, faulty-*.ts, reference-*.ts or *.fixture.ts file, ' +
    'or in test/tidy/excuses.ts with its reason.',
  check(files) {
    const code = files.filter(file => isTypeScript(file) && !file.path.endsWith('.d.ts'))
    /** path → name → may a shipped file be among the importers? `*` stands for every name. */
    const uses = new Map<string, Map<string, boolean>>()
    for (const file of code) {
      const forTests = isTest(file.path) || isForTests(file.path)
      for (const { target, names } of sourceOf(file).imports) {
        if (target === undefined || target === file.path) continue
        const used = uses.get(target) ?? new Map<string, boolean>()
        uses.set(target, used)
        for (const name of names ?? ['*']) used.set(name, used.get(name) === true || !forTests)
      }
    }
    const found: string[] = []
    for (const file of code.filter(({ path }) => !PACKAGE_ENTRIES.has(path))) {
      const used = uses.get(file.path)
      for (const { name, index } of sourceOf(file).exports) {
        const shipped = used?.get(name) === true || used?.get('*') === true
        const tested = used?.has(name) === true || used?.has('*') === true
        if (shipped || EXPORTS_EXCUSED[`${file.path}#${name}`] !== undefined) continue
        if (!tested) found.push(`${at(file, index)}: nothing imports ${name}`)
        else if (file.path.startsWith('src/') && !isForTests(file.path)) {
          found.push(`${at(file, index)}: only tests import ${name}`)
        }
      }
    }
    return found
  },
  breaks: [
    tree('src/base/a.ts', 'export const a = 1'),
    tree(
      'src/base/a.ts',
      'export interface A {}\nexport function used() {}',
      'src/base/b.ts',
      "import { used } from './a.ts'",
    ),
    tree('src/base/a.ts', 'export const a = 1', 'src/base/a.test.ts', "import { a } from './a.ts'"),
    tree('src/base/a.ts', 'const a = 1\nexport { a as b }', 'src/base/c.ts', "import { a } from './a.ts'"),
    tree('src/base/a.ts', 'export default 1', 'src/base/b.ts', "import { a } from './a.ts'"),
    tree('test/a.ts', 'export const a = 1'),
  ],
  keeps: [
    tree(
      'src/base/a.ts',
      'export const a = 1\nexport type B = 2',
      'src/base/b.ts',
      "import { a, type B as C } from './a.ts'",
    ),
    tree('src/base/a.ts', 'export const a = 1', 'bench/b.ts', "import * as all from '../src/base/a.ts'"),
    tree(
      'src/gate/gate.contract.ts',
      'export function suite() {}',
      'test/x.test.ts',
      "import { suite } from '../src/gate/gate.contract.ts'",
    ),
    tree('src/base/a.ts', 'export default 1', 'src/base/b.ts', "import a from './a.ts'"),
    tree('src/base/assert.ts', 'export class Bug {}', 'src/base/a.test.ts', "import { Bug } from './assert.ts'"),
    tree('test/a.ts', 'export const a = 1', 'test/b.test.ts', "import { a } from './a.ts'"),
  ],
}
