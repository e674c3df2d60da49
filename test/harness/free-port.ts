/**
 * A port for a server that can't be asked to pick one itself, and that must have the same again after a restart. From below the range the
 * system gives to outgoing connections: there, whoever tries again and again to reach a dead server may be given its very port, and
 * connects to itself. No port that a server uses by default.
 */

import { createServer } from 'node:net'
import { systemRandom } from '../../src/base/random.ts'

const HOST = '127.0.0.1'
const FROM = 15_000
const TO = 31_000
const TRIES_MAX = 100
const DEFAULTS = new Set([15_672, 16_379, 16_380, 26_379, 27_017])

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const port = FROM + Math.floor(systemRandom.next() * (TO - FROM))
    if (!DEFAULTS.has(port) && (await isFree(port))) return port
  }
  throw new Error(`no free port between ${FROM} and ${TO} in ${TRIES_MAX} tries`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}
