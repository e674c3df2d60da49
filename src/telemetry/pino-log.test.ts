import { expect, test } from 'bun:test'
import { createPinoLog } from './pino-log.ts'

function logged(hashKey?: string) {
  const lines: string[] = []
  const log = createPinoLog('info', { lines: { write: line => void lines.push(line) }, hashKey })
  log.info({ event: 'answered', buyer: 'ada', order: '7', found: { buyer: 'ada', ticket: 'v1.x' } }, 'answered')
  log.warn({ event: 'operator_refused', address: '10.0.0.9', token: 'abc' }, 'operator token refused')
  return lines.map(line => JSON.parse(line) as Record<string, unknown>)
}

test('buyers and addresses stand in the log as they are, secrets never', () => {
  const [answered, refused] = logged()
  expect(answered).toMatchObject({
    event: 'answered',
    buyer: 'ada',
    order: '7',
    found: { buyer: 'ada', ticket: '[hidden]' },
  })
  expect(refused).toMatchObject({ address: '10.0.0.9', token: '[hidden]' })
})

test('with a key the same buyer has the same hash everywhere, and another one under another key', () => {
  const [answered, refused] = logged('key-1')
  const { buyer } = answered as { buyer: string }
  expect(buyer).toMatch(/^[0-9a-f]{16}$/)
  expect(answered).toMatchObject({ order: '7', found: { buyer, ticket: '[hidden]' } })
  expect(JSON.stringify([answered, refused])).not.toMatch(/ada|10\.0\.0\.9/)
  expect(logged('key-1')[0]?.buyer).toBe(buyer)
  expect(logged('key-2')[0]?.buyer).not.toBe(buyer)
})
