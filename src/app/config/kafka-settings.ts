/** The settings of Kafka. */

import { z } from 'zod'
import { HIDDEN, list, onOff, parsedBy, setting, type Texts, whole } from './setting.ts'

const MECHANISMS = { plain: 'PLAIN', 'scram-sha-256': 'SCRAM-SHA-256', 'scram-sha-512': 'SCRAM-SHA-512' } as const

const hasKafka = (texts: Texts) => texts.KAFKA_BROKERS !== undefined
const needsBrokers = (name: string) => (texts: Texts) =>
  hasKafka(texts) ? undefined : `${name} needs KAFKA_BROKERS: without it nothing is sent to Kafka`

/** A password may hold any character, colons too. */
function parseLogin(text: string) {
  const [name = '', username = '', ...password] = text.split(':')
  if (!(name in MECHANISMS) || username === '' || password.join(':') === '')
    throw new Error(`must be ${Object.keys(MECHANISMS).join(', ')}, followed by :user:password`)
  return { mechanism: MECHANISMS[name as keyof typeof MECHANISMS], username, password: password.join(':') }
}

export const KAFKA_SETTINGS = {
  KAFKA_BROKERS: setting({
    about:
      'Your Kafka: host:port,host:port, any of its brokers. Events go to the topic stampede.events; in a cluster, reservations go through stampede.reservations. See docs/kafka.md.',
    schema: list.refine(
      brokers => brokers.every(broker => /^([\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(broker)),
      'must be host:port, separated by commas',
    ),
    show: brokers => brokers?.join(',') ?? null,
  }),
  KAFKA_TLS: setting({
    about: 'on: connections to Kafka are encrypted, and its certificate is checked.',
    schema: onOff,
    unset: () => 'off',
    conflict: (texts, tls) => (tls ? needsBrokers('KAFKA_TLS')(texts) : undefined),
    applies: hasKafka,
  }),
  KAFKA_TLS_CA: setting({
    about: "A file with the certificate (PEM) of the authority that signed the brokers'. Unset: those of the system.",
    schema: z.string(),
    conflict: texts =>
      texts.KAFKA_TLS === 'on' ? undefined : 'KAFKA_TLS_CA needs KAFKA_TLS=on: without it nothing is encrypted',
  }),
  KAFKA_SASL: setting({
    about: 'How this process signs in at Kafka: plain, scram-sha-256 or scram-sha-512, then :user:password.',
    schema: parsedBy(parseLogin),
    conflict: needsBrokers('KAFKA_SASL'),
    show: login => (login === undefined ? null : `${login.mechanism.toLowerCase()}:${login.username}:${HIDDEN}`),
  }),
  KAFKA_TOPIC_PREFIX: setting({
    about: "What the topics' names begin with, before a dot. Installations that share a Kafka need one each.",
    schema: z.string().regex(/^[\w.-]{1,100}$/, 'must have 1 to 100 letters, digits, dots, - or _'),
    default: 'stampede',
    applies: hasKafka,
  }),
  KAFKA_PARTITIONS: setting({
    about:
      'How many partitions a topic is created with; one that is there must have as many. An item stays in one partition.',
    schema: whole(1, 1_000),
    default: '12',
    applies: hasKafka,
  }),
  KAFKA_REPLICATION: setting({
    about: 'On how many brokers a message is stored. Unset: three, or all where there are fewer.',
    schema: whole(1, 15),
    conflict: needsBrokers('KAFKA_REPLICATION'),
  }),
  KAFKA_MIN_INSYNC: setting({
    about:
      'On how many brokers at least, before a message counts as sent (min.insync.replicas). Unset: one less than KAFKA_REPLICATION, and at least one.',
    schema: whole(1, 15),
    conflict: (texts, least) =>
      needsBrokers('KAFKA_MIN_INSYNC')(texts) ??
      (texts.KAFKA_REPLICATION !== undefined && least > Number(texts.KAFKA_REPLICATION)
        ? `KAFKA_MIN_INSYNC is ${least} and KAFKA_REPLICATION ${texts.KAFKA_REPLICATION}: nothing could be sent`
        : undefined),
  }),
}
