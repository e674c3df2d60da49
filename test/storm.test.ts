import { Stampede } from './harness/stampede.ts'
import { stormCases } from './storm-cases.ts'

stormCases(async playground => {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  return { url: () => server.url(), server: () => server, quiet: async () => {} }
})
