import { Cluster } from '../harness/cluster.ts'
import { stormCases } from '../storm-cases.ts'

/** Six processes instead of one, and Redis: everybody needs longer for a ticket. */
const OPENS_IN_MS = 14_000

stormCases(
  async playground => {
    const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2 })
    return {
      url: () => cluster.url(),
      server: () => cluster.edges()[0]!.server(),
      quiet: (shop, sale) => cluster.quiet(shop, sale),
    }
  },
  1,
  OPENS_IN_MS,
)
