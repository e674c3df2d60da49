/**
 * `stampede doctor --plan UNITS BUYERS`: what to run for such a sale. Checks nothing on this machine. Calculates with the rates of
 * docs/performance.md (a test compares them) and with bounds of the code. Takes the worst case: one item, all buyers click in the same
 * second, each wants one unit. docs/choosing.md explains it.
 */

import { ALONE_CONNECTIONS, CLUSTER_CONNECTIONS } from '../../app/compose-ledger.ts'
import { ConfigError } from '../../app/config/config.ts'
import { QUEUE_MAX } from '../../app/selling.ts'
import { SHARDS_MAX } from '../../domain/item.ts'
import { wholeNumber } from '../arguments.ts'

/** Of one process on one core, PostgreSQL on the same one; and of one Redis on one core, every reservation on its disk before the answer. */
const MEASURED = { refusedPerSecond: 65_958, placedPerSecond: 21_475, reservedPerSecond: 73_366 } as const
/** A judgement, not a measurement: a buyer gives up after a longer wait, so the crowd is spread over several edges, and winners over several Redis. */
const WAIT_S_MAX = 3
/** One edge may die. */
const SPARE = 1
const WORKERS = 2
const KEEPERS = 2
/** Shards for each primary of a Redis Cluster: which slot a shard gets is chance, and several even it out. */
const SHARDS_PER_PRIMARY = 4
/** Fewer primaries can't agree on a failover. */
const CLUSTER_MIN = 3
const COUNT_MAX = 1_000_000_000

type Plan = ReturnType<typeof planSale>

function planSale(units: number, buyers: number) {
  const orders = Math.min(units, buyers)
  const seconds = orders / MEASURED.placedPerSecond + (buyers - orders) / MEASURED.refusedPerSecond
  const wanted = Math.ceil(orders / (MEASURED.reservedPerSecond * WAIT_S_MAX))
  const primaries = wanted > 1 ? Math.max(CLUSTER_MIN, wanted) : 1
  const edges = Math.ceil(seconds / WAIT_S_MAX) + SPARE
  const many = primaries > 1 ? 'sharded over a Redis Cluster' : 'many machines around one Redis'
  return {
    units,
    buyers,
    way: seconds <= WAIT_S_MAX ? 'one process' : many,
    /** How long one process on one core would need to answer all buyers. */
    oneProcessSeconds: Math.ceil(seconds * 10) / 10,
    /** The rest is for many machines. */
    edges,
    workers: WORKERS,
    keepers: KEEPERS,
    /** Of Redis. More than one: a Cluster, and so many `shards` for the item. */
    primaries,
    /** To PostgreSQL, at most, all processes together: what its `max_connections` must allow. */
    connections: seconds <= WAIT_S_MAX ? ALONE_CONNECTIONS : connectionsOf(edges),
    shards: primaries === 1 ? 1 : Math.min(SHARDS_MAX, SHARDS_PER_PRIMARY * primaries),
  }
}

/** One more for each keeper, for one process that starts, and for an operator. */
function connectionsOf(edges: number): number {
  return (edges + WORKERS + KEEPERS) * CLUSTER_CONNECTIONS + KEEPERS + 2
}

export function readPlan(numbers: readonly string[]): Plan {
  const [units, buyers] = numbers.map(wholeNumber('--plan'))
  if (numbers.length !== 2 || units === undefined || buyers === undefined)
    throw new ConfigError('--plan: give the number of units and of buyers, like --plan 1000 100000')
  for (const count of [units, buyers])
    if (count < 1 || count > COUNT_MAX) throw new ConfigError(`--plan: ${count} must lie between 1 and ${COUNT_MAX}`)
  return planSale(units, buyers)
}

/** For `card`, which leaves out what is undefined. */
export function explainPlan(plan: Plan): readonly (readonly [string, string | undefined])[] {
  const { units, buyers, edges, workers, keepers, primaries, shards } = plan
  const orders = Math.min(units, buyers)
  const cluster = `${edges} edges, ${workers} workers, ${keepers} keepers, nginx, ${primaries === 1 ? 'one Redis' : `a Redis Cluster of ${primaries} primaries with a replica each, the item with "shards": ${shards}`}, one PostgreSQL`
  const alone = plan.way === 'one process'
  return [
    [
      'sale',
      `${shown(buyers)} buyers for ${shown(units)} units: ${shown(orders)} orders, ${shown(buyers - orders)} refusals`,
    ],
    ['run', alone ? 'one process with the gate in it: "npm start", or with a PostgreSQL of your own' : cluster],
    [
      'why',
      `one process on one core answers all of them in about ${plan.oneProcessSeconds} s if they click in the same second (measured: ${shown(MEASURED.refusedPerSecond)} refusals or ${shown(MEASURED.placedPerSecond)} orders a second, docs/performance.md)`,
    ],
    [
      'queue',
      buyers > QUEUE_MAX
        ? `${shown(QUEUE_MAX)} clicks wait for an item at each process; a click beyond that is answered "busy" until the item is sold out, and the page asks again`
        : undefined,
    ],
    ['postgres', `"max_connections" of ${shown(plan.connections)} or more`],
    [
      'survives',
      alone
        ? 'the death of the process, with every order that was answered; nothing is sold until it is back'
        : 'the death of any process and of Redis while it sells; with a synchronous standby, orders also survive the machine of PostgreSQL',
    ],
    alone
      ? ['instead', `if the sale must go on when a process dies: ${cluster}`]
      : [
          'redis',
          primaries === 1
            ? `one is enough: it reserves ${shown(MEASURED.reservedPerSecond)} a second in batches (measured, docs/performance.md), and only clicks that can win reach it; "shards" would gain nothing`
            : `one would need ${shown(Math.ceil(orders / MEASURED.reservedPerSecond))} s for all winners (measured: ${shown(MEASURED.reservedPerSecond)} reservations a second in batches); to measure a Cluster on your machines: "npm run bench -- redis"`,
        ],
    [
      'ledger',
      buyers <= units
        ? 'there are units for all buyers: in a cluster the item may be sold by the ledger ("door": "ledger"), whether Redis is there or not'
        : undefined,
    ],
    ['try', `stampede rehearse --units ${units} --buyers ${buyers} --within 1s`],
    ['more', 'docs/choosing.md'],
  ]
}

const shown = (count: number): string => count.toLocaleString('en-US')
