/**
 * A process from start to stop. States: starting → standing by (another process sells on this ledger) → ready → draining → stopped.
 * Draining: unready at once, in-flight requests are answered, everything held is given back, connections are closed; all of it together
 * within DRAIN_SECONDS, because the ledger may be silent just then. What is not given back by then lapses, and what is acknowledged is not in
 * this process alone. Only an embedded PostgreSQL may take longer: it is stopped in order, and quickly if that does not help.
 */

import { systemClock } from '../base/clock.ts'
import { armFaultPoints } from '../base/fault-points.ts'
import { createPinoLog } from '../telemetry/pino-log.ts'
import { type Composed, compose } from './compose.ts'
import { openLedger } from './compose-ledger.ts'
import type { Config } from './config.ts'

/** Of DRAIN_SECONDS, kept for giving back where requests take all they can get. The rest is longer than any order waits, by default. */
const GIVE_BACK_SHARE = 1 / 4

export async function serve(config: Config, print: (line: string) => void, stopping: AbortSignal): Promise<void> {
  const log = createPinoLog(config.logLevel)
  const clock = systemClock
  log.info({ config: config.shown }, 'starting')
  armFaultPoints(config.faultPoints)
  const ledger = await openLedger(config, log)
  const background = new AbortController()
  let deadlineMs: number | undefined
  /** Of DRAIN_SECONDS, which begin when this is first asked. */
  const leftMs = () => {
    deadlineMs ??= clock.elapsed() + config.drainMs
    return Math.max(0, deadlineMs - clock.elapsed())
  }
  try {
    const applied = await ledger.migrate(stopping)
    if (applied.length > 0) log.info({ applied }, 'migrations applied')

    let composed: Composed | undefined
    const readiness = () => {
      const missing = [...(composed?.missing() ?? ['starting'])]
      if (stopping.aborted) missing.push('stopping')
      if (composed?.node.ids.healthy() !== true)
        missing.push('no valid node id: the clock went back, or the ledger is away')
      return missing
    }
    composed = await compose(config, log, ledger, background.signal, readiness)
    let kill = async () => {}
    try {
      const server = composed.serve()
      kill = server.kill
      const words = {
        standby: (why: string) => print(`stampede stands by on ${server.url}: ${why}`),
        demo: (sale: { readonly items: readonly { readonly units: number }[] }) =>
          print(`A demo sale with ${sale.items[0]?.units} units opens in about 30 seconds (DEMO=off to do without).`),
      }
      if (await composed.start(words, stopping)) {
        if (composed.adminTokenPath !== undefined) print(`The operator token is in ${composed.adminTokenPath}`)
        if (config.guestSignIn)
          print(
            'Guest sign-in is on: anyone who reaches this address can buy under any name (GUEST_SIGN_IN=off to end that).',
          )
        print(`stampede ready on ${server.url}`)
        await Promise.race([aborted(stopping), composed.ended()])
      }
      log.info({}, 'draining')
      await Promise.race([server.stop(), clock.sleep(leftMs() - config.drainMs * GIVE_BACK_SHARE)])
    } finally {
      await kill()
      background.abort()
      const ended = composed
      const given = Promise.all(ended.loops.map(loop => loop.stopped)).then(() => ended.close())
      const late = clock.sleep(leftMs()).then(() => 'late' as const)
      if ((await Promise.race([given, late])) === 'late')
        log.warn({}, 'stopping with something under way: not all of it answers; leases are left to lapse')
    }
  } finally {
    background.abort()
    await ledger.close(leftMs())
    log.info({}, 'stopped')
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
