/** A message log on a test's broker, with topics of its own. */

import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import type { LogMessage, MessageLog, TopicSpec } from '../message-log.ts'
import type { KafkaSettings } from './connection.ts'
import { openMessageLog } from './kafka-log.ts'

const DAY_MS = 86_400_000

export function topicSpec(name: string, partitions: number): TopicSpec {
  return { name, partitions, retentionMs: DAY_MS, messageBytesMax: 2 ** 20 }
}

export function settingsOf(broker: { readonly brokers: string }): KafkaSettings {
  return { brokers: [broker.brokers], tls: undefined, sasl: undefined, replication: undefined, minInsync: undefined }
}

const nothing = () => {}
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export function openLog(settings: KafkaSettings, sendMsMax = 60_000, log: Log = silent): MessageLog {
  return openMessageLog(settings, { clock: systemClock, random: systemRandom, log }, { sendMsMax })
}

/** Messages of a key, numbered from `from`. */
export function numbered(key: string, from: number, count: number): LogMessage[] {
  return Array.from({ length: count }, (_, i) => ({ key, value: String(from + i), headers: { kind: 'number' } }))
}
