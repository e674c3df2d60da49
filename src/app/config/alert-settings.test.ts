import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from './config.ts'

const GOOD = {
  ALERT_WEBHOOK_URL: 'https://hooks.example/secret-path',
  ALERT_SLACK_URL: 'https://chat.example/services/T0/B0/secret-path',
  ALERT_EMAIL_TO: 'ops@shop.example, 值班 <night@shop.example>',
  ALERT_EMAIL_FROM: 'Stampede <alerts@shop.example>',
  ALERT_SMTP_URL: 'smtps://us%40er:secret%3Apass@mail.example',
}

function lineOf(environment: Readonly<Record<string, string>>): string {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('it was accepted')
}

test('unset: nobody is told', () => {
  expect(readConfig({}).alerts).toMatchObject({ webhook: undefined, slack: undefined, mail: undefined })
})

test('each is read, from a file too, and none of the addresses is shown', () => {
  const config = readConfig(GOOD)
  expect(config.alerts.mail).toMatchObject({
    to: ['ops@shop.example', '值班 <night@shop.example>'],
    server: { host: 'mail.example', port: 465, secure: true, plain: false, user: 'us@er', password: 'secret:pass' },
  })
  expect(JSON.stringify(config.shown)).not.toContain('secret')
  const folder = mkdtempSync(join(tmpdir(), 'stampede-alert-settings-'))
  try {
    const file = join(folder, 'smtp')
    writeFileSync(file, 'smtp://10.0.0.1:2525?tls=off\n')
    const { ALERT_SMTP_URL: _, ...rest } = GOOD
    expect(readConfig({ ...rest, ALERT_SMTP_URL_FILE: file }).alerts.mail?.server).toMatchObject({
      ...{ host: '10.0.0.1', port: 2525, secure: false, plain: true },
    })
    writeFileSync(file, 'http://secret/')
    const line = lineOf({ ...rest, ALERT_SMTP_URL_FILE: file })
    expect(line).toStartWith('ALERT_SMTP_URL_FILE: what ')
    expect(line).not.toContain('secret')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('what cannot work stops the start with one line that names the setting', () => {
  const { ALERT_SMTP_URL: _s, ...noServer } = GOOD
  const { ALERT_EMAIL_FROM: _f, ...noFrom } = GOOD
  for (const [environment, words] of [
    [noServer, 'ALERT_EMAIL_TO needs ALERT_SMTP_URL'],
    [noFrom, 'ALERT_EMAIL_TO needs ALERT_EMAIL_FROM'],
    [{ ...GOOD, ALERT_EMAIL_TO: 'ops@shop.example\nBcc: x@y.example' }, 'ALERT_EMAIL_TO: must be'],
    [{ ...GOOD, ALERT_EMAIL_FROM: 'nobody' }, 'ALERT_EMAIL_FROM: must be'],
    [{ ...GOOD, ALERT_SMTP_URL: 'smtp://user:pass@mail.example?tls=off' }, 'must not hold a password'],
    [{ ...GOOD, ALERT_SMTP_URL: 'smtp://mail.example/path' }, 'ALERT_SMTP_URL: must look like'],
    [{ ...GOOD, ALERT_WEBHOOK_URL: 'https://127.0.0.1/' }, 'ALERT_WEBHOOK_URL: leads to 127.0.0.1 (loopback)'],
    [{ ...GOOD, ALERT_SLACK_URL: 'http://chat.example/' }, 'ALERT_SLACK_URL: must be an https address'],
    [{ ...GOOD, ALERT_SLACK_URL_FILE: '/x' }, 'are both set'],
    [{ ALERT_WEBHOOK_SECRET: `whsec_${'A'.repeat(32)}` }, 'only means something with ALERT_WEBHOOK_URL'],
    [{ ...GOOD, ALERT_SMTP_CA: '/nowhere.pem' }, "ALERT_SMTP_CA: /nowhere.pem can't be read"],
  ] as const)
    expect(lineOf(environment)).toContain(words)
})
