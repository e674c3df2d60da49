/**
 * A process from start to stop. States: starting → standing by (another process sells on this ledger) → ready → draining → stopped.
 * Draining: unready at once, in-flight requests are answered, everything held is given back; bounded by DRAIN_SECONDS.
 */

import { systemClock } from '../base/clock.ts'
import type { Loop } from '../base/loop.ts'
import { demoSale } from '../flows/demo-sale.ts'
import { withdraw } from '../flows/warm-sale.ts'
import { createPinoLog } from '../telemetry/pino-log.ts'
import { type Composed, compose } from './compose.ts'
import { openLedger } from './compose-ledger.ts'
import { type Config, describeConfig } from './config.ts'

/** Longest time since the ledger last answered before traffic should go elsewhere. */
const LEDGER_SILENT_MS_MAX = 5_000

export async function serve(config: Config, print: (line: string) => void, stopping: AbortSignal): Promise<void> {
  const log = createPinoLog(config.logLevel)
  const clock = systemClock
  log.info({ config: describeConfig(config) }, 'starting')
  const ledger = await openLedger(config, log)
  const background = new AbortController()
  try {
    const applied = await ledger.migrate()
    if (applied.length > 0) log.info({ applied }, 'migrations applied')

    let composed: Composed | undefined
    let keeper: Loop | undefined
    const readiness = () => {
      const missing: string[] = []
      if (stopping.aborted) missing.push('stopping')
      if (composed?.seller.holds() !== true) missing.push('another process sells on this ledger, or the ledger is away')
      if (composed?.node.ids.healthy() !== true)
        missing.push('no valid node id: the clock went back, or the ledger is away')
      const silentMs = keeper?.sinceRoundMs()
      if (silentMs === undefined || silentMs > LEDGER_SILENT_MS_MAX) missing.push('the ledger does not answer')
      return missing
    }
    composed = await compose(config, log, ledger, background.signal, readiness)
    const { seller, node } = composed
    const server = composed.serve()
    try {
      const standby = () => print(`stampede stands by on ${server.url}: another process sells on this ledger`)
      if (await seller.acquire(stopping, standby)) {
        const { shelf } = composed
        seller.onLost(() => {
          // From here another process may sell: what this gate knows is not the last word any more, not even for a "sold out".
          for (const onSale of shelf.values()) withdraw({ log }, onSale)
          void regain(seller, background.signal)
        })
        if (config.demo) {
          const demo = await demoSale({ sales: composed.sales, ids: node.ids, clock })
          if (demo !== undefined)
            print(`A demo sale with ${demo.items[0]?.units} units opens in about 30 seconds (DEMO=off to do without).`)
        }
        keeper = await composed.startLoops()
        if (composed.adminTokenPath !== undefined) print(`The operator token is in ${composed.adminTokenPath}`)
        if (config.guestSignIn)
          print(
            'Guest sign-in is on: anyone who reaches this address can buy under any name (GUEST_SIGN_IN=off to end that).',
          )
        print(`stampede ready on ${server.url}`)
        await Promise.race([aborted(stopping), node.stopped, ...composed.loops.map(loop => loop.stopped)])
      }
      log.info({}, 'draining')
      await Promise.race([server.stop(), clock.sleep(config.drainMs)])
    } finally {
      await server.kill()
      background.abort()
      await Promise.all(composed.loops.map(loop => loop.stopped))
      await composed.close()
      await node.giveBack()
      await seller.giveBack()
    }
  } finally {
    background.abort()
    await ledger.close()
    log.info({}, 'stopped')
  }
}

/** The connection that held the right is gone. Epochs keep the items safe meanwhile; the keeper notices if somebody took them. */
async function regain(seller: Composed['seller'], signal: AbortSignal): Promise<void> {
  await seller.acquire(signal, () => {})
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
