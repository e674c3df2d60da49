/** The cluster's PostgreSQL: the embedded one, started by this process, with connections for all parts. */

import { startEmbeddedServer } from '../src/ledger/embedded/server.ts'

const CONNECTIONS_MAX = 250

export async function startPostgres(dataDir: string) {
  const server = await startEmbeddedServer({
    dataDir,
    log: () => {},
    maxConnections: CONNECTIONS_MAX,
  })
  const { host, port, user, database } = server.connection
  return {
    url: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    pid: () => server.pid(),
    stop: () => server.stop(),
  }
}
