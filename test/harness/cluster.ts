/**
 * A whole small cluster on this machine: a real PostgreSQL, a real Redis, and edges, workers and keepers as processes of their own, as a
 * shop would run them. Each can be killed, stopped, woken and started again by itself; with `roads`, each has its own road to Redis and to
 * PostgreSQL, which can be taken away from it alone. Nothing of it is left when the playground is undone.
 */

import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { killPostgres } from './postgres-process.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { type Destination, Relay } from './relay.ts'
import type { Shop, ShopSale } from './shop.ts'
import { Stampede } from './stampede.ts'
import { until } from './until.ts'

type Role = 'edge' | 'worker' | 'keeper' | 'all'

interface ClusterOptions {
  readonly edges?: number
  readonly workers?: number
  readonly keepers?: number
  /** Processes that do all of it; beside the others. */
  readonly alls?: number
  /** Each process reaches Redis and PostgreSQL over a road of its own. */
  readonly roads?: boolean
  /** Another road to PostgreSQL for one role: given its socket, the port to connect to. */
  readonly postgresVia?: Readonly<Partial<Record<Role, (socket: string) => Promise<number>>>>
  readonly env?: Readonly<Record<string, string>>
  /** For one process only: its role, and its number among those of its role. */
  readonly envFor?: (role: Role, i: number) => Readonly<Record<string, string>>
  readonly faultPoints?: Readonly<Partial<Record<Role, string>>>
  readonly redis?: readonly string[]
  /** A Redis that is there already, of whatever kind; then none is started, and `roads` lead to PostgreSQL alone. */
  readonly redisUrl?: string
  readonly fenceMs?: number
  /** Edges keep their port when they are started again: what stands before them needs no new address. */
  readonly fixedPorts?: boolean
}

const TICKET_KEYS = 'test:ticket-key-of-the-tests-only-0123456789'
/** Short, so that a rebuild takes a second and not six. */
const FENCE_MS = 500
const CONNECTIONS_MAX = 250
const QUIET_MS_MAX = 120_000

/** Brokers of a test run whose clusters all have Kafka in the middle (`cluster/through-kafka.long.test.ts`). */
export const KAFKA_VARIABLE = 'STAMPEDE_TEST_KAFKA_BROKERS'
let prefixes = 0

/** Each cluster has topics of its own. */
function kafkaOfRun(): Readonly<Record<string, string>> {
  const brokers = process.env[KAFKA_VARIABLE]
  if (brokers === undefined) return {}
  prefixes += 1
  const prefix = `run-${process.pid}-${prefixes}`
  return { KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: '3' }
}

class Member {
  readonly role: Role
  readonly redisRoad: Relay | undefined
  readonly postgresRoad: Relay | undefined
  readonly #playground: Playground
  readonly #dataDir: string
  readonly #env: Readonly<Record<string, string>>
  #server: Stampede

  constructor(
    playground: Playground,
    role: Role,
    env: Readonly<Record<string, string>>,
    roads: readonly [Relay | undefined, Relay | undefined],
    faultPoints: string,
  ) {
    this.#playground = playground
    this.role = role
    this.#env = { ROLES: role, ...env }
    ;[this.redisRoad, this.postgresRoad] = roads
    this.#dataDir = playground.dataDir()
    this.#server = this.#spawn(faultPoints)
  }

  get env(): Readonly<Record<string, string>> {
    return this.#env
  }

  server(): Stampede {
    return this.#server
  }

  async ready(): Promise<void> {
    await this.#server.ready()
  }

  running(): boolean {
    return this.#server.running()
  }

  /** SIGKILL, and it is gone. */
  kill(): Promise<void> {
    return this.#server.kill()
  }

  /** As if its machine slept. */
  freeze(): void {
    process.kill(this.#server.pid, 'SIGSTOP')
  }

  wake(): void {
    process.kill(this.#server.pid, 'SIGCONT')
  }

  /** Started again after its end, like a service manager does; resolves when it takes traffic. */
  async startAgain(faultPoints = ''): Promise<void> {
    await this.#server.exited
    const next = this.#spawn(faultPoints)
    await next.ready()
    this.#server = next
  }

  #spawn(faultPoints: string): Stampede {
    return Stampede.spawn(this.#playground, { dataDir: this.#dataDir, faultPoints, env: this.#env })
  }
}

export class Cluster {
  readonly members: readonly Member[]
  readonly #redis: RedisServer | undefined
  readonly #ledger: TestPostgres
  #asked = 0
  #passedOver: Member | undefined
  #front: string | undefined

  private constructor(redis: RedisServer | undefined, members: readonly Member[], ledger: TestPostgres) {
    this.#redis = redis
    this.members = members
    this.#ledger = ledger
  }

  static async start(playground: Playground, options: ClusterOptions = {}): Promise<Cluster> {
    const { edges = 2, workers = 1, keepers = 1, alls = 0, roads = false, fenceMs = FENCE_MS } = options
    const postgres = await startPostgres(playground, { maxConnections: CONNECTIONS_MAX })
    const redis =
      options.redisUrl === undefined
        ? await startRedis(playground, options.redis === undefined ? {} : { config: options.redis })
        : undefined
    const road = (to: Destination) => Relay.start(playground, to)
    const kafka = kafkaOfRun()

    const members: Member[] = []
    const counts: readonly (readonly [Role, number])[] = [
      ['keeper', keepers],
      ['worker', workers],
      ['edge', edges],
      ['all', alls],
    ]
    // The first migrates the ledger; the others find it done.
    for (const [role, count] of counts) {
      for (let i = 0; i < count; i++) {
        const redisRoad = roads && redis !== undefined ? await road({ port: redis.port }) : undefined
        const postgresRoad = roads ? await road({ path: postgres.socket }) : undefined
        const via = (await options.postgresVia?.[role]?.(postgres.socket)) ?? postgresRoad?.port()
        const listen = options.fixedPorts === true && role === 'edge' ? await freePort() : 0
        const env = {
          PORT: String(listen),
          DATABASE_URL: postgres.url(via),
          REDIS_URL: options.redisUrl ?? `redis://127.0.0.1:${redisRoad?.port() ?? redis?.port}/0`,
          TICKET_KEYS,
          FENCE_MS: String(fenceMs),
          ...kafka,
          ...options.env,
          ...options.envFor?.(role, i),
        }
        members.push(new Member(playground, role, env, [redisRoad, postgresRoad], options.faultPoints?.[role] ?? ''))
      }
    }
    await Promise.all(members.map(member => member.ready()))
    return new Cluster(redis, members, postgres)
  }

  /** The one that was started with it. */
  get redis(): RedisServer {
    if (this.#redis === undefined) throw new Error('this cluster runs on a Redis of the test')
    return this.#redis
  }

  of(role: Role): readonly Member[] {
    return this.members.filter(member => member.role === role)
  }

  edges(): readonly Member[] {
    return this.members.filter(({ role }) => role === 'edge' || role === 'all')
  }

  /** With what a process of this role is started here. */
  envOf(role: Role): Readonly<Record<string, string>> {
    const found = this.members.find(member => member.role === role)
    if (found === undefined) throw new Error(`the cluster has no ${role}`)
    return found.env
  }

  /** No buyer is sent to this one: what stands before the edges has noticed that it does not answer. */
  passOver(member: Member | undefined): void {
    this.#passedOver = member
  }

  /** From now on buyers come in through this address. */
  behind(url: string): void {
    this.#front = url
  }

  /** Of one running edge after the other, or what stands before them. */
  url(): string {
    if (this.#front !== undefined) return this.#front
    const running = this.edges().filter(edge => edge.running() && edge !== this.#passedOver)
    const edge = running[this.#asked++ % Math.max(1, running.length)] ?? this.edges()[0]
    if (edge === undefined) throw new Error('the cluster has no edge')
    return edge.server().url()
  }

  /** SIGKILL; it is started again by itself, after a moment. */
  killPostgres(): Promise<void> {
    return killPostgres(this.#ledger.dataDir)
  }

  /** PostgreSQL, past every process. */
  ledger(): TestPostgres {
    return this.#ledger
  }

  /** A statement at the ledger, past every process: for what no call shows. */
  sql(text: string): Promise<readonly Record<string, unknown>[]> {
    return this.#ledger.sql(text)
  }

  /** Resolves when the outbox is empty, everything is released, and gate and ledger agree. */
  async quiet(shop: Shop, sale: ShopSale): Promise<void> {
    await until(
      'an empty outbox, and a gate that agrees with the ledger',
      async () => {
        const items = await shop.audit(sale.id).catch(() => [])
        return (
          items.length > 0 &&
          items.every(({ consistent, outbox, releases, gate, door }) => {
            const sells = door === 'ledger' || (door === 'gate' && gate !== null)
            return consistent && outbox === 0 && releases === 0 && sells
          })
        )
      },
      QUIET_MS_MAX,
    )
  }
}
