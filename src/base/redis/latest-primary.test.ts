import { expect, test } from 'bun:test'
import { latestPrimary } from './latest-primary.ts'

const says = (port: number, epoch: number, flags = 'master') =>
  ['name', 'till', 'ip', '127.0.0.1', 'port', String(port), 'flags', flags, 'config-epoch', String(epoch)] as const
const OLD = 7001
const NEW = 7002
const portOf = (...answers: unknown[]) => latestPrimary(answers)?.port

test('the word of the latest failover counts, whoever answers first', () => {
  expect(portOf(says(OLD, 4), says(NEW, 5))).toBe(NEW)
  expect(portOf(says(NEW, 5), says(OLD, 4))).toBe(NEW)
  expect(portOf(new Error('away'), says(NEW, 5), new Error('away'))).toBe(NEW)
})

test('who leads a failover names the old one under the new epoch: whoever has heard of the new one counts more', () => {
  const leader = says(OLD, 5, 'master,s_down,o_down,failover_in_progress')
  expect(portOf(leader, says(NEW, 5))).toBe(NEW)
  expect(portOf(says(NEW, 5), leader)).toBe(NEW)
  expect(portOf(leader, says(OLD, 4))).toBe(OLD)
  expect(portOf(leader)).toBe(OLD)
})

test('an answer may be a map, and what names no server is no answer', () => {
  expect(latestPrimary([{ ip: '10.0.0.1', port: '6379', 'config-epoch': '1', flags: 'master' }])).toEqual({
    host: '10.0.0.1',
    port: 6379,
  })
  expect(
    latestPrimary([null, [], {}, ['ip', '', 'port', '1'], ['ip', 'x', 'port', 'y'], new Error('away')]),
  ).toBeUndefined()
})
