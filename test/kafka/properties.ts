/** The settings of a broker that is a controller too (KRaft), alone or one of several, on loopback, for tests and for a cluster on one machine. */

/** Any will do: brokers on one machine never meet. */
export const CLUSTER_ID = 'c3RhbXBlZGUtc3RhbXBlZA'
const HOST = '127.0.0.1'

interface BrokerAddress {
  readonly port: number
  readonly controllerPort: number
  readonly dir: string
  /** Lines after the usual ones; a later line wins. */
  readonly lines?: readonly string[]
  /** What clients must speak. */
  readonly protocol?: 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  /** One of several brokers: its number, from 1 on, and the controllers' ports of all of them. */
  readonly among?: { readonly id: number; readonly controllerPorts: readonly number[] }
}

export function brokerProperties({
  port,
  controllerPort,
  dir,
  lines = [],
  protocol = 'PLAINTEXT',
  among = { id: 1, controllerPorts: [controllerPort] },
}: BrokerAddress): string {
  const voters = among.controllerPorts.map((one, i) => `${i + 1}@${HOST}:${one}`)
  const replicas = among.controllerPorts.length
  const usual = [
    'process.roles=broker,controller',
    `node.id=${among.id}`,
    `listeners=CLIENT://${HOST}:${port},CONTROLLER://${HOST}:${controllerPort}`,
    `advertised.listeners=CLIENT://${HOST}:${port}`,
    'controller.listener.names=CONTROLLER',
    `controller.quorum.voters=${voters.join()}`,
    'inter.broker.listener.name=CLIENT',
    `listener.security.protocol.map=CLIENT:${protocol},CONTROLLER:PLAINTEXT`,
    `log.dirs=${dir}`,
    'auto.create.topics.enable=false',
    // What Kafka keeps for itself has a replica on each broker, and few partitions.
    'offsets.topic.num.partitions=4',
    `offsets.topic.replication.factor=${replicas}`,
    'transaction.state.log.num.partitions=1',
    `transaction.state.log.replication.factor=${replicas}`,
    'transaction.state.log.min.isr=1',
    'share.coordinator.state.topic.num.partitions=1',
    `share.coordinator.state.topic.replication.factor=${replicas}`,
    'share.coordinator.state.topic.min.isr=1',
    // A first member need not wait for others, and a dead one is noticed soon.
    'group.initial.rebalance.delay.ms=0',
    'group.min.session.timeout.ms=1000',
    // A broker that was killed may register again when the lease of its former self has lapsed.
    'broker.session.timeout.ms=3000',
    'broker.heartbeat.interval.ms=500',
    'num.network.threads=1',
    'num.io.threads=2',
    'background.threads=2',
  ]
  return [...usual, ...lines, ''].join('\n')
}
