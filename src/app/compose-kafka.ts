/**
 * How reservations come from the outbox to the ledger: straight, or through Kafka. Chosen here, once. A worker then takes from the outbox
 * either way; with Kafka it copies what it takes, and is a member of the group that places the copies.
 */

import type { ItemId } from '../domain/ids.ts'
import { type EntryCopies, noCopies } from '../flows/keep/entry-copies.ts'
import { withDeadTopic } from '../flows/place/dead-records.ts'
import { createStraightDelivery } from '../flows/place/delivery.ts'
import { findStranded } from '../flows/place/find-stranded.ts'
import { createLogCopies } from '../flows/place/log-copies.ts'
import { createPace } from '../flows/place/pace.ts'
import type { PlaceContext } from '../flows/place/place-entries.ts'
import { placeOrders } from '../flows/place/place-orders.ts'
import { createRecordPlacer } from '../flows/place/place-records.ts'
import { createRelayDelivery } from '../flows/place/relay-entries.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { RelayCursor } from '../gate/relay-cursor.ts'
import { openMessageLog } from '../kafka/client/kafka-log.ts'
import type { LogMember, MessageLog, TopicSpec } from '../kafka/message-log.ts'
import type { Config } from './config/config.ts'
import type { Foundation, ProcessContext } from './process-context.ts'

type KafkaConfig = NonNullable<Config['kafka']>
type Placer = ReturnType<typeof placeOrders>

/** A worker's part in it. */
interface PlacingWorker extends Pick<Placer, 'holdsOlder' | 'stop'> {
  start(): void
}

/** How far behind placing is, in this process. */
interface PlacingLag {
  readonly messages: number
  readonly oldestMs: number
}

interface PlacingWay {
  /** What a drain waits for beside the outbox. */
  readonly entryCopies: EntryCopies
  /** At the start: one line if what it needs does not fit. */
  prepare(): Promise<void>
  /** @param presses does a rebuild wait for this item's outbox? */
  worker(context: ProcessContext, placing: PlaceContext, presses: (item: ItemId) => boolean): PlacingWorker
  /** Undefined: what waits is in the outbox, and counted there. */
  lag(): PlacingLag | undefined
  close(): Promise<void>
}

interface WayParts {
  readonly outbox: Outbox
  readonly cursor: RelayCursor
}

/** Straight from the outbox into the ledger. */
export function openStraightWay(): PlacingWay {
  return {
    entryCopies: noCopies,
    async prepare() {},
    worker({ rounds }, placing) {
      const placer = placeOrders(placing, createStraightDelivery(placing))
      return { ...placer, start: () => void rounds.loop('place', () => placer.round()) }
    },
    lag: () => undefined,
    async close() {},
  }
}

const DAY_MS = 86_400_000
const MESSAGE_BYTES_MAX = 2 ** 20
const RECORDS_MAX = 500
/** Of a dead letter's copy, where the letter was read from the log. A rebuild may wait for what is placed straight: there it is one. */
const COPY_TRIES_MAX = 3
/** A week: for a look back, and longer than any outage of the workers should last. */
const KEPT_MS = 7 * DAY_MS

const topicsOf = ({ topicPrefix }: Pick<KafkaConfig, 'topicPrefix'>) => ({
  reservations: `${topicPrefix}reservations`,
  dead: `${topicPrefix}reservations.dead`,
  group: `${topicPrefix}reservations.workers`,
})

export function openKafkaWay(kafka: KafkaConfig, foundation: Foundation, { outbox, cursor }: WayParts): PlacingWay {
  const { log, clock } = foundation
  const messages = openMessageLog(kafka, foundation)
  const { reservations: topic, dead, group } = topicsOf(kafka)
  const specs: readonly TopicSpec[] = [
    { name: topic, partitions: kafka.partitions, retentionMs: KEPT_MS, messageBytesMax: MESSAGE_BYTES_MAX },
    { name: dead, partitions: 1, retentionMs: KEPT_MS, messageBytesMax: MESSAGE_BYTES_MAX },
  ]
  const prepared = prepareOnce(messages, specs)
  let member: LogMember | undefined

  const worker: PlacingWay['worker'] = (context, placing, presses) => {
    const { journal, rounds, alarm, meters, spans } = context
    const { sender } = messages
    const letters = (triesMax: number) => withDeadTopic({ journal, sender, topic: dead, clock, log }, triesMax)
    const straight = createStraightDelivery({ ...placing, journal: letters(1) })
    const relay = { outbox, cursor, sender, topic, log, meters, alarm, spans, presses }
    const placer = placeOrders(placing, createRelayDelivery(relay, straight))
    const pace = createPace(() => clock.elapsed())
    const records = createRecordPlacer({
      ...placing,
      alarm,
      journal: letters(COPY_TRIES_MAX),
      pace,
      exists: async item => (await context.rights.read(item)) !== undefined,
      stayOut: forMs => member?.stayOut(forMs),
    })
    const nowMs = () => context.view.nowMs()
    const stranded = { ...placing, cursor, messages, topic, group, alarm, nowMs, seen: new Map() }
    return {
      holdsOlder: (item, epoch) => placer.holdsOlder(item, epoch) || records.holdsOlder(item, epoch),
      start() {
        rounds.loop('place', async () => {
          member?.check()
          await placer.round()
        })
        rounds.loop('stranded', async () => {
          await prepared()
          member ??= messages.join({
            group,
            topic,
            batchMax: () => RECORDS_MAX,
            partitionsAtOnceMax: () => pace.lanesMax(),
            handle: batch => records.handle(batch),
          })
          await findStranded(stranded)
        })
      },
      async stop() {
        await placer.stop()
        await member?.stop()
      },
    }
  }

  const copies = createLogCopies({ messages, topic, group, outbox })
  return {
    entryCopies: {
      async ends(item) {
        await prepared()
        return copies.ends(item)
      },
      unplaced: copies.unplaced,
    },
    prepare: prepared,
    worker,
    lag() {
      const standing = member?.standing()
      if (standing === undefined) return undefined
      const oldest = standing.flatMap(one => one.oldestSentMs ?? [])
      return {
        messages: standing.reduce((sum, one) => sum + one.behind, 0),
        oldestMs: oldest.length === 0 ? 0 : Math.max(0, clock.now() - Math.min(...oldest)),
      }
    },
    close: () => messages.close(),
  }
}

/** Topics are created or compared once; until that has succeeded, each call tries. */
function prepareOnce(messages: MessageLog, specs: readonly TopicSpec[]): () => Promise<void> {
  let trying: Promise<void> | undefined
  return () => {
    trying ??= messages.prepare(specs).catch((error: unknown) => {
      trying = undefined
      throw error
    })
    return trying
  }
}
