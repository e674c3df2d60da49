/**
 * The message log on Apache Kafka. The library is loaded when it is first needed: it takes half a second of processor time, which a process
 * without brokers never spends. Connects to nothing until it is asked.
 */

import { Fault } from '../../base/fault.ts'
import type { LogMember, MessageLog } from '../message-log.ts'
import type { KafkaLimits, KafkaPorts, KafkaSettings } from './connection.ts'

export function openMessageLog(settings: KafkaSettings, ports: KafkaPorts, limits: KafkaLimits = {}): MessageLog {
  let loading: Promise<MessageLog> | undefined
  let loaded: MessageLog | undefined

  async function load(): Promise<MessageLog> {
    const { createMessageLog } = await import('./loaded-kafka-log.ts')
    loaded = createMessageLog(settings, ports, limits)
    return loaded
  }

  function open(): Promise<MessageLog> {
    loading ??= load()
    return loading
  }

  return {
    prepare: async topics => (await open()).prepare(topics),
    sender: { send: async (topic, messages) => (await open()).sender.send(topic, messages) },
    join: options => joinLater(open(), log => log.join(options)),
    partitionOf(topic, key) {
      if (loaded !== undefined) return loaded.partitionOf(topic, key)
      throw new Fault('kafka_away', `topic ${topic} was not prepared`, { retryable: true })
    },
    progress: async (topic, group) => (await open()).progress(topic, group),
    tail: async (topic, max) => (await open()).tail(topic, max),
    ping: async () => (await open()).ping(),
    // What could not be opened needs no closing; those who asked for it were told.
    close: async () => (await loading?.catch(() => undefined))?.close(),
  }
}

function joinLater(opening: Promise<MessageLog>, join: (log: MessageLog) => LogMember): LogMember {
  let member: LogMember | undefined
  let stopped = false
  let failed: { readonly error: unknown } | undefined
  const joining = opening
    .then(log => {
      if (!stopped) member = join(log)
    })
    .catch((error: unknown) => {
      failed = { error }
    })
  return {
    stayOut: forMs => member?.stayOut(forMs),
    joined: () => member?.joined() ?? false,
    standing: () => member?.standing() ?? [],
    check() {
      if (failed !== undefined) throw failed.error
      member?.check()
    },
    async stop() {
      stopped = true
      await joining
      await member?.stop()
    },
  }
}
