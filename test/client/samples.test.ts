/** The samples of `/docs`: those for the client compile against its types, those for curl are answered by a real server as calls that it has. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describeCalls } from '../../src/edge/docs/openapi.ts'
import { curlSample } from '../../src/edge/docs/samples.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import { CLIENT_SAMPLES } from '../../src/wire/calls/client-samples.ts'
import { listenTo } from '../harness/heard-out.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '../..')
const playground = new Playground()
let server: Stampede

beforeAll(async () => {
  server = await Stampede.start(playground, { dataDir: playground.dataDir() })
})
afterAll(() => playground.undo())

test('those for the client compile, and are of calls that there are', () => {
  const known = ALL_CALLS.map(({ method, path }) => `${method} ${path}`)
  expect(Object.keys(CLIENT_SAMPLES).filter(call => !known.includes(call))).toEqual([])
  const folder = mkdtempSync(join(tmpdir(), 'stampede-samples-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const functions = Object.values(CLIENT_SAMPLES).map(code => `export async function sample() {\n${code}\n}`)
  const declared =
    'declare const client: StampedeClient\ndeclare const sale: string, item: string, order: string, token: string'
  for (const [no, code] of functions.entries())
    writeFileSync(
      join(folder, `${no}.ts`),
      `import type { StampedeClient } from '${ROOT}/client/src/index.ts'\n${declared}\n${code}\n`,
    )
  const options =
    '--ignoreConfig --noEmit --strict --module preserve --moduleResolution bundler --target es2024 --lib es2024,dom,dom.iterable --allowImportingTsExtensions --skipLibCheck --types'.split(
      ' ',
    )
  const files = functions.map((_, no) => join(folder, `${no}.ts`))
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const checked = spawnSync(process.execPath, [tsc, ...options, '', ...files], { cwd: ROOT, encoding: 'utf8' })
  expect(checked.stdout + checked.stderr).toBe('')
})

// Where there is no curl, there is nothing to paste it into.
test.if(Bun.which('curl') !== null)('those for curl are taken by a server', async () => {
  const { paths } = describeCalls(ALL_CALLS)
  const samples = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      sample: curlSample(method.toUpperCase(), path, operation),
    })),
  )
  expect(samples.filter(({ sample }) => sample === undefined).map(({ call }) => call)).toEqual(['GET /api/live'])
  const script = samples
    .filter(({ sample }) => sample !== undefined)
    .map(({ sample, call }) => `${sample} -s -m 60 -o /dev/null -w '%{http_code} ${call}\\n'`)
    .join('\n')
    .replaceAll('https://sale.example', server.url())
  const buyer = await new Shop(() => server.url()).buyerToken('ada')
  const env = { PATH: process.env.PATH, ADMIN_TOKEN, BUYER_TOKEN: buyer, TICKET: 'none' }
  const cwd = mkdtempSync(join(tmpdir(), 'stampede-samples-'))
  playground.onUndo(() => rmSync(cwd, { recursive: true, force: true }))
  // What a reader would have there: its kind is told by its first bytes.
  writeFileSync(join(cwd, 'picture.jpg'), Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'))
  const child = spawn('sh', ['-c', script], { env, cwd })
  playground.onUndo(() => child.kill('SIGKILL'))
  const { out } = await listenTo(child).ran
  const answers = out.trim().split('\n')
  expect(answers.length).toBe(samples.length - 1)
  // Made-up ids are not found and a made-up ticket is refused; what is malformed would be 400, 405 or 422.
  expect(answers.filter(line => !/^(2\d\d|30\d|401|403|404|409|410|503) /.test(line))).toEqual([])
  expect(answers.filter(line => line.startsWith('401') && !/orders|payments|session/.test(line))).toEqual([])
  expect(answers).toContain('201 POST /api/admin/sales')
})
