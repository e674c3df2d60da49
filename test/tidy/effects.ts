/** Where the outside comes in: environment, time, chance, Bun and HTTP each have one door. */

import { at, type Rule, tree } from './rule.ts'
import { sourceOf } from './source.ts'
import { type File, isShipped, isSuite } from './tree.ts'

/** A rule that forbids some forms of code everywhere in src but in a few places. */
function onlyIn(allowed: (path: string) => boolean, forms: readonly RegExp[], modules: readonly string[] = []) {
  return (files: readonly File[]): string[] => {
    const found: string[] = []
    for (const file of files.filter(isShipped)) {
      if (allowed(file.path)) continue
      const { code, imports } = sourceOf(file)
      for (const form of forms) {
        for (const match of code.matchAll(form)) found.push(`${at(file, match.index)}: ${match[0].trim()}`)
      }
      for (const { from, index } of imports) {
        if (modules.includes(from)) found.push(`${at(file, index)}: imports ${from}`)
      }
    }
    return found
  }
}

export const environmentRead: Rule = {
  name: 'only app/config/config.ts reads the environment',
  remedy: 'Declare the setting in src/app/config/settings.ts and take the parsed value as an argument.',
  check: onlyIn(
    path => path === 'src/app/config/config.ts',
    [/\bprocess\.env\b/g, /\bBun\.env\b/g, /\bimport\.meta\.env\b/g],
    ['node:process', 'process'],
  ),
  breaks: [
    tree('src/edge/server.ts', 'const port = process.env.PORT'),
    tree('src/base/x.ts', "import { env } from 'node:process'"),
  ],
  keeps: [
    tree('src/app/config/config.ts', 'export const config = parse(process.env)'),
    tree('src/edge/server.ts', "// process.env is read elsewhere\nconst hint = 'process.env'"),
  ],
}

export const timeRead: Rule = {
  name: 'only base/clock.ts reads the time or sets a timer',
  remedy:
    'Take a Clock (src/base/clock.ts) as an argument and use now, elapsed or sleep: a simulator must be able to stand in.',
  check: onlyIn(
    path => path === 'src/base/clock.ts',
    [
      /\bDate\.now\b/g,
      /\bnew\s+Date\s*(\(\s*\)|(?![\w\s(]))/g,
      /(?<![\w.]|new\s)Date\(\s*\)/g,
      /\bperformance\.(now|timeOrigin)\b/g,
      /(?<!\.)\b(setTimeout|setInterval|setImmediate)\b/g,
      /\b(globalThis|window)\.(setTimeout|setInterval|setImmediate)\b/g,
      /\bprocess\.(hrtime|uptime)\b/g,
      /\bAbortSignal\.timeout\b/g,
      /\bBun\.(sleep|sleepSync|nanoseconds)\b/g,
    ],
    ['node:timers', 'node:timers/promises', 'timers', 'timers/promises', 'node:perf_hooks', 'perf_hooks'],
  ),
  breaks: [
    tree('src/flows/x.ts', 'const now = Date.now()'),
    tree('src/flows/x.ts', 'const now = new Date()'),
    tree('src/flows/x.ts', 'const now = new Date'),
    tree('src/flows/x.ts', 'const t = performance.now()'),
    tree('src/flows/x.ts', 'setTimeout(go, 5)'),
    tree('src/flows/x.ts', 'setInterval(go, 5)'),
    tree('src/flows/x.ts', 'setImmediate(go)'),
    tree('src/flows/x.ts', 'const text = `at ${Date.now()}`'),
    tree('src/flows/x.ts', "import { setTimeout as sleep } from 'node:timers/promises'"),
    tree('src/flows/x.ts', 'fetch(url, { signal: AbortSignal.timeout(5) })'),
  ],
  keeps: [
    tree('src/base/clock.ts', 'const now = Date.now()'),
    tree('src/flows/x.ts', "const at = new Date(unixMs).toISOString() // not Date.now()\nconst hint = 'setTimeout'"),
    tree('src/flows/x.test.ts', 'const now = Date.now()'),
    tree('src/edge/server.ts', 'server.timeout(request, 5)'),
  ],
}

export const chanceDrawn: Rule = {
  name: 'only base/random.ts draws chance',
  remedy: 'Take a Random (src/base/random.ts) as an argument: a seed must be able to repeat a run.',
  check: onlyIn(
    path => path === 'src/base/random.ts',
    [/\bMath\.random\b/g, /\b(randomBytes|randomUUID|randomInt|randomFill(Sync)?|getRandomValues)\b/g],
  ),
  breaks: [
    tree('src/base/retry.ts', 'const wait = Math.random() * 5'),
    tree('src/edge/x.ts', "import { randomUUID } from 'node:crypto'"),
    tree('src/edge/x.ts', 'crypto.getRandomValues(bytes)'),
  ],
  keeps: [
    tree('src/base/random.ts', 'const x = Math.random()'),
    tree('src/base/retry.ts', 'const wait = random.next() * 5'),
  ],
}

export const bunConfined: Rule = {
  name: "Bun's own API stays in edge/server.ts, edge/constant-server.ts and base/sha256.ts",
  remedy: 'Use node:* or an ordinary package. The reason is in docs/decisions/0001-bun.md.',
  check(files) {
    const doors = ['src/edge/server.ts', 'src/edge/constant-server.ts', 'src/base/sha256.ts']
    return [
      ...onlyIn(path => doors.includes(path), [/\bBun\s*\./g], ['bun', 'bun:sqlite', 'bun:ffi', 'bun:jsc'])(files),
      ...onlyIn(isSuite, [], ['bun:test'])(files),
    ]
  },
  breaks: [
    tree('src/app/x.ts', 'Bun.serve({})'),
    tree('src/app/x.ts', "import { sql } from 'bun'"),
    tree('src/app/x.ts', "import { test } from 'bun:test'"),
  ],
  keeps: [
    tree('src/edge/server.ts', 'Bun.serve({})'),
    tree('src/app/x.ts', '// Bun.serve is elsewhere\nconst say = `Bun.serve`'),
    tree('src/gate/gate.contract.ts', "import { test } from 'bun:test'"),
    tree('src/gate/contract/window-cases.ts', "import { test } from 'bun:test'"),
  ],
}

/** Numbers that mean nothing else; 100, 200, 300, 400 and 500 are counted only where the code calls them a status. */
const STATUS = '20[1-6]|30[1-8]|40[1-9]|41[0-8]|42[1-9]|431|451|50[1-8]|511'
/** Speak HTTP, so they name its status codes: the contract and the server, adapters of payment, webhooks and pages, and the crowd of a rehearsal. */
const SPEAKS_HTTP = /^src\/(wire\/|edge\/|cli\/|rehearsal\/|payment\/[^/]+\/|webhooks\/[^/]+\/|pages\/[^/]+\/)/

export const statusCodesPlaced: Rule = {
  name: 'HTTP status codes belong to wire, edge, cli and adapters that speak HTTP',
  remedy: 'Answer with an outcome (a value in a closed union) and let src/edge turn it into a status.',
  check: onlyIn(
    path => SPEAKS_HTTP.test(path),
    [
      new RegExp(`(?<![\\w.])(?:${STATUS})(?![\\w.])`, 'g'),
      /\b\w*[sS]tatus(Code)?\b\s*(?:[:=(]|[=!]==?|[<>]=?)\s*[1-5]\d\d\b(?!\w)/g,
    ],
  ),
  breaks: [
    tree('src/flows/x.ts', "return { code: 409, kind: 'sold_out' }"),
    tree('src/domain/x.ts', 'const answer = { status: 200 }'),
    tree('src/gate/x.ts', 'if (reply.statusCode >= 500) throw gone'),
    tree('src/payment/payment.ts', 'const notFound = 404'),
  ],
  keeps: [
    tree('src/edge/replies.ts', 'const soldOut = 409'),
    tree('src/payment/sandbox/sandbox.ts', 'if (reply.status !== 200) return'),
    tree(
      'src/flows/x.ts',
      "// answers 409\nconst lineMax = 500\nconst x = 4_040\nconst status = 'ok'\nconst y = 0.404",
    ),
  ],
}
