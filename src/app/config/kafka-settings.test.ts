/** The settings of Kafka: what they become, and the one line for each that is wrong. */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from './config.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
const folder = mkdtempSync(join(tmpdir(), 'stampede-settings-'))
const authority = join(folder, 'ca.pem')
writeFileSync(authority, PEM)
writeFileSync(join(folder, 'key.pem'), '-----BEGIN PRIVATE KEY-----\n')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const BROKERS = { KAFKA_BROKERS: 'a.example:9092, [::1]:9093' }

function refusal(environment: Readonly<Record<string, string>>): string {
  try {
    readConfig(environment)
    return 'nothing stopped it'
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

test('without brokers there is no Kafka, and its other settings are refused', () => {
  expect(readConfig({}).kafka).toBeUndefined()
  for (const [name, value] of Object.entries({
    KAFKA_TLS: 'on',
    KAFKA_SASL: 'plain:u:p',
    KAFKA_REPLICATION: '3',
    KAFKA_MIN_INSYNC: '2',
  }))
    expect(refusal({ [name]: value })).toBe(`${name} needs KAFKA_BROKERS: without it nothing is sent to Kafka`)
})

test('brokers, encryption and a password with colons are read, and the password is not shown', () => {
  const config = readConfig({
    ...BROKERS,
    KAFKA_TLS: 'on',
    KAFKA_TLS_CA: authority,
    KAFKA_SASL: 'scram-sha-512:shop:a:b,c',
    KAFKA_TOPIC_PREFIX: 'eu.shop',
    KAFKA_REPLICATION: '3',
    KAFKA_MIN_INSYNC: '2',
  })
  expect(config.kafka).toEqual({
    brokers: ['a.example:9092', '[::1]:9093'],
    tls: { ca: PEM },
    sasl: { mechanism: 'SCRAM-SHA-512', username: 'shop', password: 'a:b,c' },
    topicPrefix: 'eu.shop.',
    partitions: 12,
    replication: 3,
    minInsync: 2,
  })
  expect(config.shown).toMatchObject({
    KAFKA_SASL: 'scram-sha-512:shop:[hidden]',
    KAFKA_TLS: 'on',
    KAFKA_TLS_CA: authority,
  })
  expect(JSON.stringify(config.shown)).not.toContain('a:b')
})

test('a value that is wrong is one line that names it', () => {
  for (const [wrong, line] of [
    [{ KAFKA_BROKERS: 'a.example' }, 'KAFKA_BROKERS: must be host:port, separated by commas'],
    [{ ...BROKERS, KAFKA_SASL: 'plain:shop' }, 'KAFKA_SASL: must be plain, scram-sha-256, scram-sha-512, followed by'],
    [{ ...BROKERS, KAFKA_SASL: 'oauth:shop:p' }, 'KAFKA_SASL: must be plain'],
    [{ ...BROKERS, KAFKA_TLS_CA: '/ca.pem' }, 'KAFKA_TLS_CA needs KAFKA_TLS=on'],
    [{ ...BROKERS, KAFKA_TOPIC_PREFIX: 'a b' }, 'KAFKA_TOPIC_PREFIX: must have 1 to 100'],
    [{ ...BROKERS, KAFKA_PARTITIONS: '0' }, 'KAFKA_PARTITIONS: must lie between'],
    [
      { ...BROKERS, KAFKA_REPLICATION: '1', KAFKA_MIN_INSYNC: '2' },
      'KAFKA_MIN_INSYNC is 2 and KAFKA_REPLICATION 1: nothing could be sent',
    ],
  ] as const)
    expect(refusal(wrong)).toStartWith(line)
})

test("the authority's certificate is read at once: a wrong file is one line", () => {
  const withFile = (file: string) => refusal({ ...BROKERS, KAFKA_TLS: 'on', KAFKA_TLS_CA: file })
  expect(withFile(join(folder, 'none.pem'))).toBe(`KAFKA_TLS_CA: ${join(folder, 'none.pem')} can't be read (ENOENT)`)
  expect(withFile(folder)).toBe(`KAFKA_TLS_CA: ${folder} can't be read (EISDIR)`)
  expect(withFile(join(folder, 'key.pem'))).toBe(
    `KAFKA_TLS_CA: there is no certificate (PEM) in ${join(folder, 'key.pem')}`,
  )
  expect(withFile(authority)).toBe('nothing stopped it')
})
