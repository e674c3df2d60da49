/** The cluster's end-to-end tests, unchanged, with Kafka in the middle of every cluster that they start: each file in a process of its own. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { KAFKA_VARIABLE } from '../harness/cluster.ts'
import { type KafkaBroker, startKafka } from '../harness/kafka.ts'
import { Playground } from '../harness/playground.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** What buyers, operators and the parts that die do to orders. The others are about limits, catalogues and the Redis itself. */
const FILES = [
  'after-the-sale',
  'doors',
  'events',
  'gate-comes-back',
  'half-partition',
  'keeper-dies',
  'kill-roles',
  'last-units',
  'lost-tail',
  'one-shop',
  'rolling-restart',
  'shards',
  'shared-ledger',
]

const playground = new Playground()
let broker: KafkaBroker
beforeAll(async () => {
  broker = await startKafka(playground)
}, 300_000)
afterAll(() => playground.undo())

for (const name of FILES) {
  test(`${name}, with Kafka in the middle`, async () => {
    const child = spawn(process.execPath, ['test', `./test/cluster/${name}.test.ts`], {
      cwd: ROOT,
      env: { ...process.env, [KAFKA_VARIABLE]: broker.brokers },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const hear = (chunk: Buffer) => {
      output += chunk.toString('utf8')
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    playground.onUndo(() => void child.kill('SIGKILL'))
    const { code } = await childEnd(child)
    expect(code, output.slice(-20_000)).toBe(0)
  }, 1_200_000)
}
