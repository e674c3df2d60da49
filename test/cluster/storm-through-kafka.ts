/** Where the storm breaks with Kafka in the middle: a cluster on a real broker. Beside the promises, the order per item is verified. */

import { startKafka } from '../harness/kafka.ts'
import type { Playground } from '../harness/playground.ts'
import { expectInOrder, startKafkaCluster } from './kafka-cluster.ts'

export async function throughKafka(playground: Playground) {
  const { brokers } = await startKafka(playground)
  const { cluster } = await startKafkaCluster(playground, brokers, { edges: 2, workers: 2, keepers: 2 })
  return {
    url: () => cluster.url(),
    server: () => cluster.edges()[0]!.server(),
    quiet: cluster.quiet.bind(cluster),
    verify: () => expectInOrder(cluster),
  }
}
