/**
 * A real Kafka broker for tests: Apache Kafka in KRaft mode, one process, with a port and a folder of its own on loopback. It starts in one
 * to three seconds of processor time: a test file shares one and gives each test topics of its own. It can be killed, stopped, frozen, and
 * started again on the same port and data; it is gone when the playground is undone.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { childEnd } from '../../src/base/child-end.ts'
import { ensureKafka, JAVA, type KafkaProgram } from '../kafka/program.ts'
import { brokerProperties, CLUSTER_ID } from '../kafka/properties.ts'
import { freePort } from './free-port.ts'
import { listens } from './listens.ts'
import type { Playground } from './playground.ts'
import { until, within } from './until.ts'

const START_MS_MAX = 120_000
const STOP_MS_MAX = 60_000

interface KafkaOptions {
  /** Lines of the broker's settings, after the usual ones. */
  readonly lines?: readonly string[]
  readonly protocol?: 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  /** `quickly` (the default): for a broker that lives for seconds. `well`: as a shop's, for measurements. */
  readonly compiles?: 'quickly' | 'well'
  /** Accounts that the data folder is formatted with, as `kafka-storage.sh --add-scram` takes them. */
  readonly scram?: readonly string[]
}

export class KafkaBroker {
  readonly port: number
  /** As KAFKA_BROKERS wants it. */
  readonly brokers: string
  readonly #command: readonly string[]
  readonly #plain: boolean
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #output = ''

  constructor(port: number, command: readonly string[], plain: boolean) {
    this.port = port
    this.brokers = `127.0.0.1:${port}`
    this.#command = command
    this.#plain = plain
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('this Kafka does not run')
    return this.#child.pid
  }

  /** Where it keeps its partitions, a folder each. */
  get dataDir(): string {
    return join(dirname(this.#command.at(-1)!), 'data')
  }

  output(): string {
    return this.#output
  }

  /** Begins to start it, again on the same port and data. */
  begin(): void {
    if (this.#child !== undefined) throw new Error('this Kafka runs already')
    this.#output = ''
    const child = spawn(JAVA, this.#command, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    const hear = (chunk: Buffer) => {
      this.#output += chunk.toString('utf8')
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    this.#ended = childEnd(child).then(() => {
      this.#child = undefined
    })
  }

  /** Returns when it takes part in its cluster: it may listen before. */
  async start(): Promise<void> {
    this.begin()
    await until(`Kafka on port ${this.port}`, () => this.#ready(), START_MS_MAX)
  }

  async #ready(): Promise<boolean> {
    if (this.#child === undefined) throw new Error(`Kafka ended while it was started:\n${this.#output}`)
    if (!(await listens(this.port))) return false
    if (!this.#plain) return true
    const admin = new Admin({ clientId: 'harness', bootstrapBrokers: [this.brokers], retries: 0 })
    try {
      return (await admin.metadata({ topics: [] })).brokers.size > 0
    } catch {
      return false
    } finally {
      await admin.close()
    }
  }

  /** SIGKILL: nothing is flushed, no client is told. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  async stop(): Promise<void> {
    this.#child?.kill('SIGTERM')
    await within('the end of Kafka after SIGTERM', STOP_MS_MAX, this.#ended)
  }

  /** It keeps its connections and answers nothing, until it is thawed. Resolves when each of its threads has stopped: one may answer until then. */
  async freeze(): Promise<void> {
    process.kill(this.pid, 'SIGSTOP')
    const tasks = `/proc/${this.pid}/task`
    const isStopped = (task: string) => /^State:\s+T/m.test(readFileSync(`${tasks}/${task}/status`, 'utf8'))
    await until('every thread of the broker stands still', () => {
      try {
        return readdirSync(tasks).every(isStopped)
      } catch {
        // A thread ended between the two reads.
        return false
      }
    })
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT')
  }
}

export async function startKafka(playground: Playground, options: KafkaOptions = {}): Promise<KafkaBroker> {
  const program = await ensureKafka(line => console.log(line))
  const folder = mkdtempSync(join(tmpdir(), 'stampede-kafka-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  const dir = join(folder, 'data')
  const [port, controllerPort] = [await freePort(), await freePort()]
  const properties = join(folder, 'broker.properties')
  writeFileSync(properties, brokerProperties({ port, controllerPort, dir, ...options }))
  if (options.scram === undefined) cpSync(program.formatted, dir, { recursive: true })
  else formatWith(program, properties, options.scram)
  const compiler = options.compiles === 'well' ? [] : ['-XX:TieredStopAtLevel=1']
  const command = [...compiler, ...program.java, 'kafka.Kafka', properties]
  const broker = new KafkaBroker(port, command, (options.protocol ?? 'PLAINTEXT') === 'PLAINTEXT')
  playground.onUndo(() => broker.kill())
  await broker.start()
  return broker
}

/** Brokers that are one cluster, each of them a controller too. One may be killed: two of three go on. */
export async function startKafkas(playground: Playground, count: number): Promise<readonly KafkaBroker[]> {
  const program = await ensureKafka(line => console.log(line))
  const controllerPorts: number[] = []
  for (let i = 0; i < count; i++) controllerPorts.push(await freePort())
  const brokers: KafkaBroker[] = []
  for (const [i, controllerPort] of controllerPorts.entries()) {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-kafka-'))
    playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
    const port = await freePort()
    const properties = join(folder, 'broker.properties')
    const among = { id: i + 1, controllerPorts }
    writeFileSync(properties, brokerProperties({ port, controllerPort, dir: join(folder, 'data'), among }))
    formatWith(program, properties, [])
    const broker = new KafkaBroker(port, [...program.java, 'kafka.Kafka', properties], true)
    playground.onUndo(() => broker.kill())
    brokers.push(broker)
  }
  await Promise.all(brokers.map(broker => broker.start()))
  return brokers
}

function formatWith(program: KafkaProgram, properties: string, accounts: readonly string[]): void {
  const scram = accounts.flatMap(account => ['--add-scram', account])
  const args = [...program.java, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties, ...scram]
  const { status, stderr } = spawnSync(JAVA, args, { encoding: 'utf8', timeout: START_MS_MAX })
  if (status !== 0) throw new Error(`the data folder could not be formatted: ${stderr}`)
}
