/** A green rehearsal is no fault: while a made-up crowd buys a cluster empty, and after it, the pager hears nothing but what says that this machine is slow. */

import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AlertMonitor } from '../harness/alert-monitor.ts'
import { Cluster } from '../harness/cluster.ts'
import { freePort } from '../harness/free-port.ts'
import { listenTo } from '../harness/heard-out.ts'
import { Playground } from '../harness/playground.ts'
import { PROGRAM } from '../harness/program.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** A minute is 0.4 s. */
const SCALE = 150
const NAMES = ['edge-0', 'edge-1', 'worker-0', 'keeper-0']
/** Two cores are edge, worker, keeper, Redis, PostgreSQL and the crowd at once: that it is slow then is no false alarm. */
const ABOUT_SPEED = [
  'StampedeSlowFast',
  'StampedeSlowSlowly',
  'StampedeRefusalsSlow',
  'StampedeOverloaded',
  'StampedeDown',
  'StampedeNotReconciled',
  'StampedeQueueLags',
]
/** Of the rules' time after the rehearsal: twenty minutes. */
const READINGS_AFTER = 16

test('a green rehearsal raises no alert', async () => {
  const targets: Record<string, number> = {}
  for (const name of NAMES) targets[name] = await freePort()
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 1,
    keepers: 1,
    fenceMs: 1_500,
    env: { RATE_PER_ADDRESS: '1000000/1s', RATE_CALLS_PER_ADDRESS: 'off', PAYMENT_PROVIDERS: 'sandbox' },
    envFor: (role, i) => ({ METRICS_PORT: String(targets[`${role}-${i}`]) }),
  })
  const monitor = await AlertMonitor.start(playground, { scale: SCALE, targets })
  const readings = async () => (await monitor.query('sum(count_over_time(up[1h]))'))[0]?.value ?? 0
  await until('the processes are read', async () => (await readings()) > NAMES.length)

  const [edge] = cluster.edges()
  const args = [
    'rehearse',
    '--against',
    edge!.server().url(),
    '--token',
    ADMIN_TOKEN,
    '--buyers',
    '2000',
    '--units',
    '100',
  ]
  const folder = mkdtempSync(join(tmpdir(), 'stampede-rehearsal-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const more = ['--buyer-secret', BUYER_JWT_SECRET, '--report', join(folder, 'report.html')]
  const child = spawn(process.execPath, [PROGRAM, ...args, '--within', '1s', '--json', '--no-constant', ...more], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { PATH: process.env.PATH },
  })
  const { code, err } = await listenTo(child).ran
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  const read = await readings()
  await until('a while after it', async () => (await readings()) >= read + READINGS_AFTER * NAMES.length)
  const fired = monitor.heard('firing')
  console.log(`  heard: ${fired.join(', ') || 'nothing'}`)
  expect(fired.filter(alert => !ABOUT_SPEED.includes(alert))).toEqual([])
}, 300_000)
