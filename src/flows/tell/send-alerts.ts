/**
 * Tells people outside when a trouble begins and when it is over. Runs in every edge: each writes what it sees into the ledger, where a trouble is
 * one row however many processes see it, and any of them sends the messages that follow from it, one at a time for each channel. What was not
 * told before a restart is told after it. A message is told at least once: a process that dies between sending and writing that down sends twice.
 *
 * Bounds: a trouble that comes and goes is told at most once in the repeat time; a channel gets at most one message in a while, with all that waits;
 * one that fails is tried again with growing pauses, for a day. Nothing here is waited for by anything that sells.
 *
 * Without the ledger (it is the trouble itself) a process sends directly: the one that Redis lets, and where there is no Redis either, each for itself.
 */

import type { AlertChannel, AlertMessage, AlertPart, ChannelName, Told } from '../../alerts/channel.ts'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault, onFault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { AlertEntry, Alerts, ChannelState } from '../../ledger/alerts.ts'

/** As the operations page shows it. */
export interface SeenTrouble {
  readonly code: string
  readonly which?: string
  readonly sale?: string
  readonly item?: string
  readonly count?: number
  readonly words?: string
  readonly sinceMs: number
}

export interface FailingChannel {
  readonly channel: string
  readonly words: string
}

interface SendAlertsContext {
  readonly alerts: Alerts
  readonly channels: readonly AlertChannel[]
  readonly troubles: () => readonly SeenTrouble[]
  readonly namesOf: (trouble: SeenTrouble) => { readonly saleName?: string; readonly itemName?: string }
  /** May this process tell, for so long, that the ledger is away? True also where nothing can be asked. */
  readonly maySendAlone: (forMs: number) => Promise<boolean>
  /** This process, in its claims and, as people know it, in its messages. */
  readonly holder: string
  readonly process: string
  readonly source: string
  readonly page: string | undefined
  readonly repeatMs: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  readonly log: Log
}

const NOTE_EVERY_MS = 5_000
/** So long a trouble must not be seen by any process to be over. */
const QUIET_MS = 60_000
/** Of many, the worst. */
const SEEN_MAX = 200
/** Messages to one channel have at least this between them. */
const BETWEEN_MS = 10_000
const MESSAGES_MAX = 200
const HOLD_MS = 120_000
const RETRY = { firstMs: 5_000, longestMs: 10 * 60_000 }
/** Older than this nobody needs to hear of it any more. */
const GIVE_UP_MS = 86_400_000
/** For so long a channel may fail before that is a trouble of its own. */
const FAILING_MS = 60_000
const TRIES_ALONE_MAX = 5
const LEDGER_AWAY = 'ledger_away'

interface Alone {
  readonly atMs: number
  /** Channels that are being told. */
  pending: number
  /** At least one was told. */
  told: boolean
}

export class AlertSender {
  readonly #context: SendAlertsContext
  readonly #sending = new Map<ChannelName, Promise<void>>()
  readonly #stop = new AbortController()
  #opened = false
  #notedMs = Number.NEGATIVE_INFINITY
  /** What was written last, to write at once when it changes. */
  #noted = ''
  /** Since then every round has been written: only who has looked for long enough may say that a trouble is over. */
  #notingSinceMs: number | undefined
  #states: readonly ChannelState[] = []
  /** What became of telling, past the ledger, that it is away. */
  #alone: Alone | undefined
  #failed: unknown

  constructor(context: SendAlertsContext) {
    this.#context = context
  }

  /** Once a second. Rejects with a bug of a round before. */
  async round(): Promise<void> {
    const { channels } = this.#context
    if (channels.length === 0) return
    try {
      await this.#note()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#notingSinceMs = undefined
      this.#beginAlone()
      return
    }
    for (const channel of channels) this.#begin(channel, () => this.#send(channel))
    const failed = this.#failed
    this.#failed = undefined
    if (failed !== undefined) throw failed
  }

  /** Channels that were not reached for a while. */
  failing(): readonly FailingChannel[] {
    const nowMs = this.#context.clock.now()
    return this.#states
      .filter(({ failingSinceMs }) => failingSinceMs !== undefined && nowMs - failingSinceMs >= FAILING_MS)
      .map(({ channel, problem }) => ({ channel, words: problem ?? '' }))
  }

  /** Sends a test to every channel now, past the ledger. */
  async test(): Promise<readonly { readonly channel: ChannelName; readonly told: Told; readonly tookMs: number }[]> {
    const { channels, random, clock } = this.#context
    const id = `test-${Buffer.from(random.bytes(9)).toString('base64url')}`
    const message = this.#message(id, [], true)
    return Promise.all(
      channels.map(async channel => {
        const fromMs = clock.elapsed()
        const told = await this.#try(channel, message)
        return { channel: channel.name, told, tookMs: Math.round(clock.elapsed() - fromMs) }
      }),
    )
  }

  /** How far each channel has been told, in their order. Undefined for one that no process has opened yet. */
  async states(): Promise<readonly { readonly channel: ChannelName; readonly state: ChannelState | undefined }[]> {
    const { alerts, channels } = this.#context
    const states = channels.length === 0 ? [] : await alerts.channels(channels.map(({ name }) => name))
    return channels.map(({ name }) => ({ channel: name, state: states.find(({ channel }) => channel === name) }))
  }

  /** What is under way ends, as failed; the next process goes on with it. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#sending.values())
  }

  async #note(): Promise<void> {
    const { alerts, channels, clock, troubles, repeatMs } = this.#context
    const seen = troubles().slice(0, SEEN_MAX)
    const keys = seen.map(keyOf).join()
    const nowMs = clock.elapsed()
    if (nowMs - this.#notedMs < NOTE_EVERY_MS && keys === this.#noted) return
    const names = channels.map(({ name }) => name)
    if (!this.#opened) await alerts.open(names)
    this.#opened = true
    const since = this.#notingSinceMs ?? nowMs
    // While it is being told, what is true of it is not known yet.
    const alone = this.#alone?.pending === 0 ? this.#alone : undefined
    const noted = seen.map(trouble => this.#kept(trouble, alone?.told === true && trouble.code === LEDGER_AWAY))
    // It was told past the ledger: its end is told the usual way, by any process.
    if (alone?.told === true && !seen.some(({ code }) => code === LEDGER_AWAY))
      noted.push(this.#kept({ code: LEDGER_AWAY, sinceMs: alone.atMs }, true))
    await alerts.note(noted, { quietMs: QUIET_MS, repeatMs, mayEnd: nowMs - since >= QUIET_MS })
    if (alone !== undefined) this.#alone = undefined
    this.#notingSinceMs = since
    this.#notedMs = nowMs
    this.#noted = keys
    this.#states = await alerts.channels(names)
  }

  #kept(trouble: SeenTrouble, told: boolean) {
    const { namesOf, process } = this.#context
    return { key: keyOf(trouble), told, trouble: { ...trouble, ...namesOf(trouble), process } }
  }

  /** One at a time for each channel, and no round waits for it. */
  #begin({ name }: AlertChannel, work: () => Promise<void>): void {
    if (this.#sending.has(name) || this.#stop.signal.aborted) return
    const ended = work()
      .catch((error: unknown) => {
        // The ledger's faults show in the next round's own statement.
        if (!(error instanceof Fault)) this.#failed ??= error
      })
      .finally(() => this.#sending.delete(name))
    this.#sending.set(name, ended)
  }

  async #send(channel: AlertChannel): Promise<void> {
    const { alerts, holder, log, random } = this.#context
    const claimed = await alerts.claim(channel.name, holder, { holdMs: HOLD_MS, max: MESSAGES_MAX })
    if (claimed === undefined) return
    const { entries } = claimed
    const upTo = entries.at(-1)!.no
    const fresh = entries.filter(({ ageMs }) => ageMs < GIVE_UP_MS)
    const lost = entries.length - fresh.length
    if (lost > 0)
      log.warn(
        { event: 'alerts_given_up', channel: channel.name, count: lost },
        'alerts given up: they could not be told for a day',
      )
    if (fresh.length === 0) {
      await alerts.settle(channel.name, holder, { upTo, nextInMs: 0, tries: 0, problem: undefined, told: false })
      return
    }
    const told = await this.#try(channel, this.#message(`${fresh[0]!.no}-${upTo}`, fresh.map(partOf), false))
    if (told.kind === 'told') {
      const problem = told.but
      await alerts.settle(channel.name, holder, { upTo, nextInMs: BETWEEN_MS, tries: 0, problem, told: true })
      return
    }
    const tries = claimed.tries + 1
    if (tries === 1)
      log.warn({ event: 'alert_not_sent', channel: channel.name, why: told.why }, 'alert not told; it is tried again')
    const nextInMs = this.#stop.signal.aborted ? 0 : retryInMs(random, tries)
    await alerts.settle(channel.name, holder, { upTo: 0, nextInMs, tries, problem: told.why, told: false })
  }

  #beginAlone(): void {
    const { channels, troubles, clock, log } = this.#context
    if (this.#alone !== undefined || !troubles().some(({ code }) => code === LEDGER_AWAY)) return
    const alone = { atMs: clock.now(), pending: 1, told: false }
    this.#alone = alone
    void this.#askAlone().then(may => {
      alone.pending -= 1
      if (!may) return
      log.warn({ event: 'alert_past_ledger' }, 'the ledger is away: this process tells it past the ledger')
      for (const channel of channels) this.#begin(channel, () => this.#sendAlone(channel, alone))
    })
  }

  async #askAlone(): Promise<boolean> {
    const { maySendAlone, repeatMs } = this.#context
    return onFault(
      () => maySendAlone(repeatMs),
      () => true,
    )
  }

  async #sendAlone(channel: AlertChannel, alone: Alone): Promise<void> {
    alone.pending += 1
    const { clock, random, process } = this.#context
    const part = partOf({
      ...{ no: 0, kind: 'began', trouble: { code: LEDGER_AWAY, process }, times: 1, ageMs: 0 },
      ...{ beganAtMs: alone.atMs, atMs: alone.atMs },
    })
    const message = this.#message(`away-${alone.atMs}`, [{ ...part, id: `away-${alone.atMs}` }], false)
    for (let tries = 1; tries <= TRIES_ALONE_MAX && !this.#stop.signal.aborted; tries++) {
      const { kind } = await this.#try(channel, message)
      if (kind === 'told') {
        alone.told = true
        break
      }
      await clock.sleep(retryInMs(random, tries), this.#stop.signal)
    }
    alone.pending -= 1
  }

  async #try(channel: AlertChannel, message: AlertMessage): Promise<Told> {
    const { clock, meters, timeoutMs } = this.#context
    const told = await withDeadline(clock, timeoutMs, deadline =>
      channel.send(message, AbortSignal.any([deadline, this.#stop.signal])),
    )
    meters.count('alerts', `${channel.name}_${told.kind}`)
    return told
  }

  #message(id: string, parts: readonly AlertPart[], isTest: boolean): AlertMessage {
    const { source, page } = this.#context
    return { id, isTest, source, page, parts }
  }
}

function keyOf({ code, which, sale, item }: Pick<SeenTrouble, 'code' | 'which' | 'sale' | 'item'>): string {
  return [code, which, sale, item].join('/')
}

/** Written by this version or another: what is not as expected is left out. */
function partOf({ no, kind, trouble, beganAtMs, atMs, times }: Omit<AlertEntry, 'ageMs'>): AlertPart {
  const text = (name: string) => (typeof trouble[name] === 'string' ? trouble[name] : undefined)
  return {
    id: `${no}`,
    kind,
    code: text('code') ?? 'unknown',
    which: text('which'),
    sale: text('sale'),
    item: text('item'),
    count: typeof trouble.count === 'number' ? trouble.count : undefined,
    words: text('words'),
    saleName: text('saleName'),
    itemName: text('itemName'),
    process: text('process'),
    sinceMs: beganAtMs,
    untilMs: kind === 'ended' ? atMs : undefined,
    times,
  }
}

function retryInMs(random: Random, tries: number): number {
  const ceilingMs = Math.min(RETRY.firstMs * 2 ** Math.min(tries - 1, 20), RETRY.longestMs)
  return Math.round(ceilingMs * (0.5 + random.next() / 2))
}
