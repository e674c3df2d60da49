import { Cluster } from '../harness/cluster.ts'
import { stormCases } from '../storm-cases.ts'

stormCases(async playground => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2 })
  return {
    url: () => cluster.url(),
    server: () => cluster.edges()[0]!.server(),
    quiet: (shop, sale) => cluster.quiet(shop, sale),
  }
})
