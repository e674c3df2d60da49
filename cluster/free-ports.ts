/** Ports that nobody listens on at this moment: bound once, all at the same time, and let go. */

import { createServer } from 'node:net'

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', resolve)
      })
      return server
    }),
  )
  const ports = servers.map(server => {
    const address = server.address()
    return address === null || typeof address === 'string' ? 0 : address.port
  })
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
