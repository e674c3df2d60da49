import { afterEach, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { PageChange } from '../page-store.ts'
import { createUploadCommand } from './command.ts'
import { createPurge } from './purge.ts'

const undo: (() => void)[] = []
afterEach(() => {
  for (const one of undo.splice(0)) one()
})

const put = (path: string): PageChange => ({ path, what: 'put' })
const faultOf = async (sent: Promise<void>): Promise<Fault> => {
  const error = await sent.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Fault)
  return error as Fault
}

async function cdn(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => {
      body += part
    })
    request.on('end', () => answer(request, response, body))
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  undo.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/purge`
}

const purgeAt = (url: string, timeoutMs = 60_000) =>
  createPurge({ url, token: 'purge-token', publicUrl: 'https://sale.example.com', timeoutMs }, systemClock)

test('a CDN is told the addresses that buyers use, with the token, and nothing of files that never change', async () => {
  const heard: unknown[] = []
  const url = await cdn((request, response, body) => {
    heard.push([request.method, request.headers.authorization, JSON.parse(body)])
    response.end()
  })
  const purge = purgeAt(url)
  await purge.send([put('s/12.html'), { path: 's/13.html', what: 'removed' }, put('index.html')])
  await purge.send([put('assets/buyer-0123456789abcdef.js')])
  const files = ['/s/12', '/s/13', '/'].map(path => `https://sale.example.com${path}`)
  expect(heard).toEqual([['POST', 'Bearer purge-token', { files }]])
})

test('a CDN that refuses, redirects, hangs or is gone is a fault that names it and no secret', async () => {
  for (const status of [301, 403, 500]) {
    const url = await cdn((_, response) =>
      response.writeHead(status, { location: 'https://elsewhere.example' }).end('x'),
    )
    const fault = await faultOf(purgeAt(url).send([put('s/1.html')]))
    expect(fault.message).toBe(`the purge at ${new URL(url).host} answered ${status}`)
  }
  const silent = await cdn(() => {})
  expect((await faultOf(purgeAt(silent, 50).send([put('s/1.html')]))).message).toContain('no answer within 50 ms')
  const gone = await faultOf(purgeAt('http://127.0.0.1:1/purge').send([put('s/1.html')]))
  expect(gone.message).toContain('could not be reached')
  expect(JSON.stringify([gone, gone.message, gone.cause])).not.toContain('purge-token')
})

function program(lines: string, timeoutMs = 60_000) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-upload-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'upload')
  writeFileSync(path, `#!/bin/sh\n${lines}\n`)
  chmodSync(path, 0o755)
  const words = [path, '--to', '$HOME;x']
  return { folder, command: createUploadCommand({ words, folder, timeoutMs }, systemClock) }
}

test('a command gets a line for each change, its arguments as they are, and no secret of this process', async () => {
  process.env.TEST_SECRET_OF_STAMPEDE = 'hidden'
  undo.push(() => delete process.env.TEST_SECRET_OF_STAMPEDE)
  const { folder, command } = program('cat > got; echo "$@" > args; env > environment; pwd > where')
  await command.send([put('s/12.html'), { path: 's/13.html', what: 'removed' }])
  const text = (name: string) => readFileSync(join(folder, name), 'utf8')
  expect(text('got')).toBe('put s/12.html\nremoved s/13.html\n')
  expect(text('args')).toBe('--to $HOME;x\n')
  expect(text('where').trim()).toEndWith(folder)
  expect(text('environment')).not.toContain('hidden')
  expect(text('environment')).toContain('PATH=')
})

test('a command that fails says why, in one bounded line; one that is not there or reads nothing is handled', async () => {
  const { command } = program(`printf 'no such \\033[31mbucket\\nat all' >&2; exit 3`)
  const fault = await faultOf(command.send([put('s/1.html')]))
  expect(fault.message).toEndWith('exit code 3: no such [31mbucket at all')
  const long = program(`head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1`)
  expect((await faultOf(long.command.send([put('s/1.html')]))).message.length).toBeLessThan(500)
  const missing = createUploadCommand({ words: ['/nothing/here'], folder: tmpdir(), timeoutMs: 60_000 }, systemClock)
  expect((await faultOf(missing.send([put('s/1.html')]))).message).toContain('ENOENT')
  await program('exit 0').command.send(Array.from({ length: 1_000 }, (_, i) => put(`s/${i + 1}.html`)))
})

test('a command that takes too long is ended, with what it has started', async () => {
  const { folder, command } = program(`sh -c 'while :; do touch "$0/alive"; sleep 0.05; done' "$PWD" & wait`, 300)
  const fault = await faultOf(command.send([put('s/1.html')]))
  expect(fault.message).toContain('took too long')
  const alive = join(folder, 'alive')
  await until('its child is gone too', async () => {
    rmSync(alive, { force: true })
    await systemClock.sleep(300)
    return !existsSync(alive)
  })
})
