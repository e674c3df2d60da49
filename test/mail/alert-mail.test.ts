/** Alerts by e-mail, against a real SMTP server (aiosmtpd), and against one that does not speak. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AlertMessage, AlertPart } from '../../src/alerts/channel.ts'
import { createMailChannel, type MailServer } from '../../src/alerts/mail/mail-channel.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { SmtpServer } from './smtp-server.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const PASSWORD = 'pa55: word/é'
const FROM = 'Stampede <alerts@shop.example>'
const LONG_MS = 60_000

const part: AlertPart = {
  id: '1',
  kind: 'began',
  code: 'provider_silent',
  which: 'stripe',
  sale: '7',
  item: undefined,
  count: 4,
  words: 'line one\r\nBcc: everybody@shop.example',
  saleName: '双十一\r\nSubject: other',
  itemName: undefined,
  process: 'edge-1',
  sinceMs: Date.parse('2026-11-11T00:00:00Z'),
  untilMs: undefined,
  times: 3,
}
const message: AlertMessage = {
  id: '1-1',
  isTest: false,
  source: 'https://shop.example',
  page: 'https://shop.example/ops',
  parts: [part],
}

function channel(
  server: Partial<MailServer> & { readonly port: number },
  more: { ca?: string; timeoutMs?: number } = {},
) {
  return createMailChannel({
    server: { host: '127.0.0.1', secure: false, plain: true, user: undefined, password: undefined, ...server },
    from: FROM,
    to: ['ops@shop.example', '值班 <night@shop.example>'],
    timeoutMs: more.timeoutMs ?? LONG_MS,
    ca: more.ca,
  })
}

const never = new AbortController().signal

test('a mail says what is wrong, where, since when and what to do, to everybody, and a repeated one has the same id', async () => {
  const smtp = await SmtpServer.start(playground)
  const mail = channel({ port: smtp.port })
  expect(await mail.send(message, never)).toEqual({ kind: 'told' })
  expect(await mail.send(message, never)).toEqual({ kind: 'told' })
  await until('both are taken', () => smtp.mails().length === 2)
  const [first, second] = smtp.mails()
  expect(first!.id).toBe(second!.id)
  expect(first!.everybody).toEqual(['ops@shop.example', 'night@shop.example'])
  expect(first!.subject).toBe('[Stampede] A payment provider does not answer (stripe, 4)')
  expect(first!.headers).toContain('Auto-Submitted')
  expect(first!.headers).not.toContain('Bcc')
  for (const words of [
    'BEGAN: A payment provider does not answer (stripe, 4) · 双十一 Subject: other',
    'line one Bcc: everybody@shop.example',
    'Since 2026-11-11 00:00:00 UTC, seen by edge-1. It has begun 3 times since it was last told.',
    'What to do: Check its status page',
    'https://shop.example/ops',
  ])
    expect(first!.text).toContain(words)
})

test('with a password: only over TLS, only with the right certificate, and never shown', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-alert-mail-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...name],
    { stdio: 'ignore' },
  )
  const strict = await SmtpServer.start(playground, [cert, key, 'ops', PASSWORD])
  const ca = readFileSync(cert, 'utf8')
  const account = { port: strict.port, user: 'ops', password: PASSWORD }

  expect(await channel(account).send(message, never)).toMatchObject({ kind: 'failed' })
  const wrong = await channel({ ...account, password: 'another' }, { ca }).send(message, never)
  expect(wrong).toMatchObject({ kind: 'failed', why: expect.stringContaining('Invalid login') })
  expect(JSON.stringify(wrong)).not.toContain('another')
  expect(strict.mails()).toEqual([])
  expect(await channel(account, { ca }).send(message, never)).toEqual({ kind: 'told' })
  await until('it is taken', () => strict.mails().length === 1)
  expect(strict.mails()[0]).toMatchObject({ tls: true })

  // A server without TLS gets no password, and no message unless plain text is allowed.
  const plain = await SmtpServer.start(playground)
  const refused = { kind: 'failed', why: expect.stringMatching(/STARTTLS/i) }
  expect(await channel({ ...account, port: plain.port }).send(message, never)).toMatchObject(refused)
  expect(await channel({ port: plain.port, plain: false }).send(message, never)).toMatchObject(refused)
  expect(plain.mails()).toEqual([])
})

test('a server that is silent, away, or does not know anybody is a failed try, in time', async () => {
  const sockets: net.Socket[] = []
  const silent = net.createServer(socket => void sockets.push(socket))
  await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
  playground.onUndo(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  expect(await channel({ port }, { timeoutMs: 300 }).send(message, never)).toMatchObject({ kind: 'failed' })
  const stop = new AbortController()
  const tried = channel({ port }).send(message, stop.signal)
  stop.abort()
  expect(await tried).toEqual({ kind: 'failed', why: 'No answer in time.' })

  const smtp = await SmtpServer.start(playground)
  await smtp.kill()
  expect(await channel({ port: smtp.port }).send(message, never)).toMatchObject({ kind: 'failed' })

  const here = await SmtpServer.start(playground)
  const server = {
    host: '127.0.0.1',
    port: here.port,
    secure: false,
    plain: true,
    user: undefined,
    password: undefined,
  }
  const to = (...addresses: string[]) =>
    createMailChannel({ server, from: FROM, to: addresses, timeoutMs: LONG_MS, ca: undefined }).send(message, never)
  expect(await to('nobody@shop.example')).toMatchObject({ kind: 'failed' })
  expect(await to('nobody@shop.example', 'ops@shop.example')).toEqual({
    kind: 'told',
    but: 'The server takes no mail for 1 of 2 addresses.',
  })
})
