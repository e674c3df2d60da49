/**
 * A process of its own with an embedded server, for tests that kill processes or run them as another user.
 * Takes the data folder as argument; prints one line of JSON when ready or refused; stops when its input ends. Ignores Ctrl-C, like a
 * process that is draining.
 */

import { Fault } from '../../base/fault.ts'
import { startEmbeddedServer } from './server.ts'

process.on('SIGINT', () => {})
const print = (line: object) => console.log(JSON.stringify(line))
try {
  const server = await startEmbeddedServer({ dataDir: process.argv[2] ?? '', log: () => {} })
  print({ connection: server.connection, postmaster: server.pid() })
  process.stdin.on('end', () => server.stop().then(() => process.exit(0))).resume()
} catch (error) {
  print({
    fault: error instanceof Fault ? error.code : 'none',
    message: error instanceof Error ? error.message : String(error),
  })
  process.exit(1)
}
