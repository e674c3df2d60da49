/**
 * A port for a server that can't be asked to pick one itself, and that must have the same again after a restart. From below the range the
 * system gives to outgoing connections: there, whoever tries again and again to reach a dead server may be given its very port, and
 * connects to itself. No port that a server uses by default.
 * Nobody else who asks here is given it for as long as this process lives, also while no server listens there.
 */

import { createSocket, type Socket } from 'node:dgram'
import { createServer } from 'node:net'
import { systemRandom } from '../../src/base/random.ts'

const HOST = '127.0.0.1'
const FROM = 15_000
const TO = 31_000
const TRIES_MAX = 100
const DEFAULTS = new Set([15_672, 16_379, 16_380, 26_379, 27_017])

/** Held as long as the process lives. */
const claims: Socket[] = []

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const port = FROM + Math.floor(systemRandom.next() * (TO - FROM))
    if (!DEFAULTS.has(port) && (await claim(port)) && (await isFree(port))) return port
  }
  throw new Error(`no free port between ${FROM} and ${TO} in ${TRIES_MAX} tries`)
}

/** The UDP port of the same number stands for it: no server here uses it, and it is let go with the process, however that ends. */
function claim(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createSocket('udp4')
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: HOST, exclusive: true }, () => {
      socket.unref()
      claims.push(socket)
      resolve(true)
    })
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}
