/** Does a server accept connections on this port of loopback? */

import { connect } from 'node:net'

export function listens(port: number): Promise<boolean> {
  return new Promise(resolveListens => {
    const socket = connect(port, '127.0.0.1')
    const finish = (yes: boolean) => {
      socket.destroy()
      resolveListens(yes)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}
