/** Encryption and passwords, as a broker in the open asks for them: TLS with an authority of its own, SASL PLAIN and SCRAM. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KafkaBroker, startKafka } from '../../../test/harness/kafka.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import type { KafkaSettings } from './connection.ts'
import { numbered, openLog, settingsOf, topicSpec } from './kafka-log.fixture.ts'

const PASSWORD = 'shop:secret with a colon'
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

const playground = new Playground()
let broker: KafkaBroker
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stampede-kafka-tls-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  certificate('ca')
  certificate('other')
  writeFileSync(
    join(folder, 'broker.pem'),
    `${readFileSync(join(folder, 'ca.key'))}${readFileSync(join(folder, 'ca.crt'))}`,
  )
  const login = 'org.apache.kafka.common.security'
  broker = await startKafka(playground, {
    protocol: 'SASL_SSL',
    scram: ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map(kind => `${kind}=[name=shop,password="${PASSWORD}"]`),
    lines: [
      'ssl.keystore.type=PEM',
      `ssl.keystore.location=${join(folder, 'broker.pem')}`,
      'ssl.truststore.type=PEM',
      `ssl.truststore.location=${join(folder, 'ca.crt')}`,
      'sasl.mechanism.inter.broker.protocol=PLAIN',
      `sasl.enabled.mechanisms=${MECHANISMS.join(',')}`,
      `listener.name.client.plain.sasl.jaas.config=${login}.plain.PlainLoginModule required username="broker" password="broker-secret" user_broker="broker-secret" user_shop="${PASSWORD}";`,
      `listener.name.client.scram-sha-256.sasl.jaas.config=${login}.scram.ScramLoginModule required;`,
      `listener.name.client.scram-sha-512.sasl.jaas.config=${login}.scram.ScramLoginModule required;`,
    ],
  })
}, 300_000)
afterAll(() => playground.undo())

/** A key, and a certificate for 127.0.0.1 that is signed with it. */
function certificate(name: string): void {
  const file = (end: string) => join(folder, `${name}.${end}`)
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  const args = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    ...subject,
    '-keyout',
    file('key'),
    '-out',
    file('crt'),
  ]
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', timeout: 60_000 })
  if (status !== 0) throw new Error(stderr)
}

const pemOf = (name: string) => readFileSync(join(folder, `${name}.crt`), 'utf8')

function settings(
  mechanism: NonNullable<KafkaSettings['sasl']>['mechanism'],
  changes: Partial<KafkaSettings> = {},
): KafkaSettings {
  return {
    ...settingsOf(broker),
    tls: { ca: pemOf('ca') },
    sasl: { mechanism, username: 'shop', password: PASSWORD },
    ...changes,
  }
}

for (const mechanism of MECHANISMS)
  test(`sends and reads over TLS with a password (${mechanism})`, async () => {
    const log = openLog(settings(mechanism))
    try {
      const topic = `stampede.${mechanism}`
      // The accounts are known a moment after the broker listens.
      await until('the broker', () =>
        log.ping().then(
          () => true,
          () => false,
        ),
      )
      await log.prepare([topicSpec(topic, 1)])
      await log.sender.send(topic, numbered('k', 0, 10))
      const seen: string[] = []
      log.join({
        group: `${topic}.readers`,
        topic,
        batchMax: () => 10,
        partitionsAtOnceMax: () => 1,
        async handle(batch) {
          seen.push(...batch.records.map(record => record.value))
          await batch.commit(batch.records.at(-1)!.offset + 1n)
        },
      })
      await until('all messages', () => seen.length === 10)
    } finally {
      await log.close()
    }
  })

/** The answer of a broker that answers: a slow one is asked again. */
async function answer(changes: Partial<KafkaSettings>): Promise<string> {
  let heard = 'kafka_away'
  await until('an answer of the broker', async () => {
    heard = await refusal(changes)
    return heard !== 'kafka_away'
  })
  return heard
}

async function refusal(changes: Partial<KafkaSettings>): Promise<string> {
  const log = openLog(settings('SCRAM-SHA-256', changes))
  try {
    await log.ping()
    return 'accepted'
  } catch (error) {
    return error instanceof Fault ? error.code : String(error)
  } finally {
    await log.close()
  }
}

test('a wrong password, an unknown user and a password that is missing are refused', async () => {
  for (const mechanism of MECHANISMS) {
    expect(await answer({ sasl: { mechanism, username: 'shop', password: 'wrong' } })).toBe('kafka_refused')
    expect(await answer({ sasl: { mechanism, username: 'thief', password: PASSWORD } })).toBe('kafka_refused')
  }
  expect(await refusal({ sasl: undefined })).toStartWith('kafka_')
  expect(await answer({})).toBe('accepted')
})

test('a broker with the certificate of another authority or another name gets no password', async () => {
  expect(await refusal({ tls: { ca: pemOf('other') } })).toBe('kafka_away')
  expect(await refusal({ tls: { ca: undefined } })).toBe('kafka_away')
  expect(await refusal({ brokers: [`localhost:${broker.port}`] })).toBe('kafka_away')
  expect(await answer({ tls: undefined })).toBe('kafka_refused')
})
