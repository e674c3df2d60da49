/** The storm, unchanged, with Kafka in the middle. */

import { Cluster } from '../harness/cluster.ts'
import { startKafka } from '../harness/kafka.ts'
import { stormCases } from '../storm-cases.ts'

stormCases(async playground => {
  const { brokers } = await startKafka(playground)
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, env: { KAFKA_BROKERS: brokers } })
  return {
    url: () => cluster.url(),
    server: () => cluster.edges()[0]!.server(),
    quiet: (shop, sale) => cluster.quiet(shop, sale),
  }
})
