/**
 * `npm run cluster`: a small cluster on this machine, to try out, to rehearse against and to break. PostgreSQL, Redis (one server, or a Redis
 * Cluster), Kafka if asked for, edges, workers, keepers, nginx in front. A part that dies is restarted, as a service manager would. Ctrl-C stops all; data stays.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { systemRandom } from '../src/base/random.ts'
import { freePort } from '../test/harness/free-port.ts'
import { ensureKafka, type KafkaProgram } from '../test/kafka/program.ts'
import { ensureServers } from '../test/servers.ts'
import { writeNginxFiles } from './nginx-site.ts'
import { kafkaPart, nginxPart, prometheusPart, redisPart, stampedePart } from './parts.ts'
import { startPostgres } from './postgres.ts'
import { startRedisCluster } from './redis-cluster.ts'
import { type Part, Supervisor } from './supervisor.ts'

const ROLES = ['edge', 'worker', 'keeper'] as const
const USAGE =
  'npm run cluster -- [--port 8080] [--edges 2] [--workers 2] [--keepers 2] [--redis one|cluster] [--kafka] [--watch] [--data ./data/cluster]'
const REDIS_KINDS = ['one', 'cluster'] as const
const COUNT_MAX = 16

interface Options {
  readonly port: number
  readonly counts: Readonly<Record<(typeof ROLES)[number], number>>
  readonly redis: (typeof REDIS_KINDS)[number]
  readonly kafka: boolean
  readonly watch: boolean
  readonly data: string
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8080' },
      edges: { type: 'string', default: '2' },
      workers: { type: 'string', default: '2' },
      keepers: { type: 'string', default: '2' },
      redis: { type: 'string', default: 'one' },
      kafka: { type: 'boolean', default: false },
      watch: { type: 'boolean', default: false },
      data: { type: 'string', default: './data/cluster' },
    },
  })
  const count = (name: 'edges' | 'workers' | 'keepers') => {
    const value = Number(values[name])
    if (!Number.isInteger(value) || value < 1 || value > COUNT_MAX)
      throw new Error(`--${name} must lie between 1 and ${COUNT_MAX}`)
    return value
  }
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port must lie between 0 and 65535')
  const redis = REDIS_KINDS.find(kind => kind === values.redis)
  if (redis === undefined) throw new Error(`--redis: "${values.redis}" is none of ${REDIS_KINDS.join(', ')}`)
  return {
    port,
    redis,
    kafka: values.kafka,
    watch: values.watch,
    counts: { edge: count('edges'), worker: count('workers'), keeper: count('keepers') },
    data: resolve(values.data),
  }
}

async function main(): Promise<void> {
  const options = readOptions()
  const { data, counts } = options
  const print = (line: string) => process.stdout.write(`${line}\n`)
  ensureServers(['redis-server', 'nginx', ...(options.watch ? (['prometheus'] as const) : [])], print)
  const kafkaProgram = options.kafka ? await ensureKafka(print) : undefined
  mkdirSync(data, { recursive: true })

  const secret = () => Buffer.from(systemRandom.bytes(24)).toString('base64url')
  const [adminToken, buyerSecret, ticketSecret] = [secret(), secret(), secret()]
  const port = options.port === 0 ? await freePort() : options.port
  const edgePorts = await Promise.all(Array.from({ length: counts.edge }, freePort))
  const url = `http://127.0.0.1:${port}`
  const metricsPorts: Record<string, number> = {}
  if (options.watch)
    for (const role of ROLES) for (let i = 1; i <= counts[role]; i++) metricsPorts[`${role}-${i}`] = await freePort()

  print('starting PostgreSQL …')
  const postgres = await startPostgres(join(data, 'ledger'))
  const env = {
    DATABASE_URL: postgres.url,
    ADMIN_TOKEN: adminToken,
    TICKET_KEYS: `cluster:${ticketSecret}`,
    BUYER_JWT_SECRET: buyerSecret,
    GUEST_SIGN_IN: 'on',
    PAYMENT_PROVIDERS: 'sandbox',
    PUBLIC_URL: url,
    // Only nginx: a rehearsal's buyers use other addresses of 127/8.
    TRUSTED_PROXIES: '127.0.0.1/32',
    LOG_LEVEL: 'warn',
    WARM_CODE: process.env.WARM_CODE ?? 'on',
  }
  const file = join(data, 'cluster.json')
  const logs = join(data, 'logs')
  const supervisor = new Supervisor(logs, print, parts =>
    writeClusterFile(file, { url, adminToken, buyerSecret }, parts),
  )
  supervisor.watchAlso({ name: 'postgres', role: 'postgres', pid: () => postgres.pid() })
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  try {
    const redis =
      options.redis === 'one'
        ? await startRedis(supervisor, join(data, 'redis'))
        : await startRedisCluster(supervisor, join(data, 'redis-cluster'), stop.signal)
    const kafka = kafkaProgram && (await startKafka(supervisor, kafkaProgram, join(data, 'kafka')))
    for (const role of [...ROLES].reverse()) {
      const members = Array.from({ length: counts[role] }, (_, i) => {
        const listen = role === 'edge' ? (edgePorts[i] ?? 0) : 0
        const demo = role === 'keeper' ? 'on' : 'off'
        const name = `${role}-${i + 1}`
        const metrics = metricsPorts[name]
        const watched = metrics === undefined ? {} : { METRICS_PORT: String(metrics) }
        const own = { DEMO: demo, DATA_DIR: join(data, name), PORT: String(listen), ROLES: role, ...watched }
        return stampedePart(name, role, { ...env, ...redis, ...kafka, ...own })
      })
      // The first keeper migrates the ledger before the others start.
      for (const member of members) await supervisor.start(member)
    }
    await supervisor.start(nginxPart(writeNginxFiles(join(data, 'nginx'), port, edgePorts), port))
    const watchPort = options.watch ? await freePort() : undefined
    if (watchPort !== undefined)
      await supervisor.start(prometheusPart(join(data, 'prometheus'), watchPort, metricsPorts))
    print('')
    print(`the cluster is ready on ${url}      operations page: ${url}/ops`)
    if (watchPort !== undefined) print(`Prometheus watches it: http://127.0.0.1:${watchPort}/alerts`)
    print(`its processes and the operator token are listed in ${file}; what each of them writes is in ${logs}`)
    print(
      `rehearse against it:   npm run stampede -- rehearse --fault redis${options.redis === 'one' ? '' : ' --shards 8'}`,
    )
    print('Ctrl-C stops it.')
    await new Promise<void>(resolveStop => stop.signal.addEventListener('abort', () => resolveStop(), { once: true }))
    print('stopping …')
  } finally {
    await supervisor.stop()
    await postgres.stop()
    rmSync(file, { force: true })
  }
}

/** Every write is on disk before its answer: the strongest durability of a single Redis. */
async function startRedis(supervisor: Supervisor, dir: string) {
  const port = await freePort()
  await supervisor.start(redisPart('redis', dir, port, ['appendfsync always']))
  return { REDIS_URL: `redis://127.0.0.1:${port}/0` }
}

/** One broker, with its data in the folder; the ports are new each time. */
async function startKafka(supervisor: Supervisor, program: KafkaProgram, dir: string) {
  const [port, controllerPort] = [await freePort(), await freePort()]
  await supervisor.start(kafkaPart(program, dir, port, controllerPort))
  return { KAFKA_BROKERS: `127.0.0.1:${port}` }
}

/** Atomic: another process may be reading the file. */
function writeClusterFile(file: string, cluster: Readonly<Record<string, string>>, parts: readonly Part[]): void {
  const draft = `${file}.new`
  writeFileSync(draft, `${JSON.stringify({ ...cluster, parts }, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}

main().catch((error: unknown) => {
  process.stderr.write(`cluster: ${error instanceof Error ? error.message : error}\nusage: ${USAGE}\n`)
  process.exit(1)
})
