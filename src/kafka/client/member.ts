/**
 * A member of a group, for as long as it is wanted: one membership after the other (`membership.ts`), with a growing pause after a fault.
 * Gives batches to `handle`: one at a time per partition, a bounded number of partitions side by side, in turn.
 */

import type { BaseOptions } from '@platformatic/kafka'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { Random } from '../../base/random.ts'
import type { LogBatch, LogGroupOptions, LogMember } from '../message-log.ts'
import { kafkaFault } from './connection.ts'
import { Membership } from './membership.ts'
import type { PartitionReader } from './partition-reader.ts'

const PAUSE_MS = 50
const PAUSE_MS_MAX = 5_000

const TEXTS = {
  event: 'group_left',
  begins: 'not a member of the group; it joins again',
  lasts: 'still not a member of the group',
  ends: 'a member of the group again',
} as const

const FETCH_TEXTS = {
  event: 'messages_not_fetched',
  begins: 'messages of the group are not fetched; tried again',
  lasts: 'messages of the group are still not fetched',
  ends: 'messages of the group are fetched again',
} as const

interface MemberParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly options: BaseOptions
}

export function joinGroup(parts: MemberParts, options: LogGroupOptions): LogMember {
  const { clock, random, log } = parts
  const { group, topic } = options
  const outage = new OutageLog({ clock, log }, { group, topic }, TEXTS)
  const fetching = new OutageLog({ clock, log }, { group, topic }, FETCH_TEXTS)
  const stopping = new AbortController()
  /** Aborted to leave the group for a while. */
  let leaving = new AbortController()
  let outUntilMs = 0
  let membership: Membership | undefined
  let handled = 0
  let bug: { readonly error: unknown } | undefined

  const pauseMs = (failures: number) =>
    Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random.next() / 2)

  /** Begins what may begin. Called whenever something has changed. */
  function begin(): void {
    const current = membership
    if (current === undefined || stopping.signal.aborted || bug !== undefined || current.settling) return
    // A reader that was served is put last: a partition that never runs dry keeps none waiting.
    for (const [partition, reader] of current.readers) {
      if (handled >= options.partitionsAtOnceMax()) return
      if (reader.handling !== undefined || !reader.holds || reader.pausedUntilMs > clock.elapsed()) continue
      current.readers.delete(partition)
      current.readers.set(partition, reader)
      handled += 1
      reader.handling = handle(current, reader)
        .catch((error: unknown) => {
          bug ??= { error }
          leaving.abort()
        })
        .finally(() => {
          handled -= 1
          endHandling(reader)
          begin()
        })
    }
  }

  /** The call may have been inherited by a later reader of the same partition. */
  function endHandling(reader: PartitionReader): void {
    const { handling } = reader
    reader.handling = undefined
    const heir = membership?.readers.get(reader.partition)
    if (heir !== undefined && heir.handling === handling) heir.handling = undefined
  }

  async function handle(current: Membership, reader: PartitionReader): Promise<void> {
    const records = reader.batch(options.batchMax())
    const last = records.at(-1)
    if (last === undefined) return
    const batch: LogBatch = {
      partition: reader.partition,
      records,
      end: reader.end,
      signal: reader.lost.signal,
      commit: nextOffset => current.commit(reader, nextOffset),
    }
    try {
      await options.handle(batch)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.debug(
        { event: 'messages_not_handled', group, topic, partition: reader.partition, code: error.code, err: error },
        'batch not handled',
      )
    }
    if (reader.committed > last.offset) {
      reader.failures = 0
      return
    }
    reader.failures += 1
    const ms = pauseMs(reader.failures)
    reader.pausedUntilMs = clock.elapsed() + ms
    void clock.sleep(ms, stopping.signal).then(begin)
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!stopping.signal.aborted && bug === undefined) {
      leaving = new AbortController()
      const current = new Membership({
        ...parts,
        group,
        topic,
        fetching,
        changed: begin,
        assigned: partitions => {
          failures = 0
          outage.worked()
          options.assigned?.(partitions)
        },
      })
      membership = current
      try {
        await Promise.race([current.run(), aborted(leaving.signal), aborted(stopping.signal)])
      } catch (error) {
        failures += 1
        outage.failed(kafkaFault('the membership ended', error))
      }
      // Nothing new is begun; what is begun is finished and committed before it leaves.
      current.settling = true
      await finished(current)
      await current.close()
      membership = undefined
      options.assigned?.([])
      const waitMs = Math.max(outUntilMs - clock.elapsed(), failures > 0 ? pauseMs(failures) : 0)
      if (waitMs > 0 && bug === undefined) await clock.sleep(waitMs, stopping.signal)
    }
  }

  async function finished(current: Membership): Promise<void> {
    const under = [...current.readers.values()].flatMap(reader => reader.handling ?? [])
    if (under.length === 0) return
    await Promise.all(under)
    return finished(current)
  }

  const ended = run().catch((error: unknown) => {
    bug ??= { error }
  })

  return {
    stayOut(forMs) {
      outUntilMs = clock.elapsed() + forMs
      leaving.abort()
    },
    joined: () => membership?.joined ?? false,
    standing: () => [...(membership?.readers.values() ?? [])].map(reader => reader.standing()),
    check() {
      if (bug !== undefined) throw bug.error
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
