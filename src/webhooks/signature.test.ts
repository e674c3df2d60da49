import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { newSecret, signedHeaders } from './signature.ts'

const BODY = '{"type":"order.paid","buyer":"安"}'

test('a receiver with the library of Standard Webhooks accepts the signature, and nothing that was changed', () => {
  const secret = newSecret(systemRandom)
  const headers = { ...signedHeaders('17', systemClock.now(), BODY, [secret]) }
  expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY))
  expect(() => new Webhook(secret).verify(`${BODY} `, headers)).toThrow()
  expect(() => new Webhook(secret).verify(BODY, { ...headers, 'webhook-id': '18' })).toThrow()
  expect(() => new Webhook(newSecret(systemRandom)).verify(BODY, headers)).toThrow()
})

test('while two secrets are valid, receivers with either of them accept it', () => {
  const [older, newer] = [newSecret(systemRandom), newSecret(systemRandom)]
  const headers = { ...signedHeaders('17', systemClock.now(), BODY, [newer, older]) }
  for (const secret of [older, newer]) new Webhook(secret).verify(BODY, headers)
  expect(() => new Webhook(newSecret(systemRandom)).verify(BODY, headers)).toThrow()
})

test('a message that is too old is refused by its timestamp', () => {
  const secret = newSecret(systemRandom)
  const headers = { ...signedHeaders('17', systemClock.now() - 3_600_000, BODY, [secret]) }
  expect(() => new Webhook(secret).verify(BODY, headers)).toThrow('too old')
})

test('a secret is a fresh key of 32 bytes', () => {
  const secret = newSecret(systemRandom)
  expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32)
  expect(newSecret(systemRandom)).not.toBe(secret)
})
