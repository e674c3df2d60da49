/**
 * A server for one rehearsal: a child process (`child-server.ts`) with its own PostgreSQL in a temporary folder. `stop` leaves nothing behind: no
 * process, no folder.
 */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { type ServerCommand, startChildServer } from './child-server.ts'

/**
 * `command` starts a server that reads its settings, and its folder, from standard input. `discardData` removes its data folder and stops
 * a PostgreSQL that a killed server has left running.
 */
export async function startThrowawayServer(
  command: ServerCommand,
  discardData: (dataDir: string) => Promise<void>,
  clock: Clock,
  random: Random,
  stop: AbortSignal,
) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-rehearsal-'))
  // As root, PostgreSQL runs under another account, which must be able to enter the folder.
  chmodSync(folder, 0o711)
  const secret = () => Buffer.from(random.bytes(24)).toString('base64url')
  const [token, buyerSecret] = [secret(), secret()]
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    ADMIN_TOKEN: token,
    BUYER_JWT_SECRET: buyerSecret,
    PAYMENT_PROVIDERS: 'sandbox',
    DEMO: 'off',
    LOG_LEVEL: 'error',
  }
  const discard = async () => {
    await discardData(settings.DATA_DIR)
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  try {
    const name = 'throwaway server'
    const server = await startChildServer({ name, command, folder, task: { folder, settings }, clock, stop })
    const end = async () => {
      await server.stop()
      await discard()
    }
    return { url: server.url, token, buyerSecret, stop: end }
  } catch (error) {
    await discard()
    throw error
  }
}
