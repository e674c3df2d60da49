/**
 * A process from start to stop. States: starting → waiting for the ledger (PostgreSQL is away) → standing by (another process sells on this ledger) → ready → draining → stopped.
 * Draining: not ready at once, requests in flight are answered, everything held is given back, connections are closed. All of it takes
 * DRAIN_SECONDS at most, even if the ledger is silent: what is not given back by then lapses, and nothing acknowledged is in this process
 * alone. Only an embedded PostgreSQL may take longer: it is stopped in order, and quickly if that does not help.
 */

import { systemClock } from '../../base/clock.ts'
import { armFaultPoints } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { startLobby } from '../../edge/server.ts'
import { createPinoLog } from '../../telemetry/pino-log.ts'
import { createTerminalLines } from '../../telemetry/terminal-lines.ts'
import { type Composed, compose } from '../compose.ts'
import { openLedger } from '../compose-ledger.ts'
import type { Config } from '../config/config.ts'
import { ownSecret } from '../config/secrets.ts'
import { unsafeSettings } from '../config/unsafe-settings.ts'
import { aborted, type StartReport } from '../process-context.ts'
import { awaitLedger, WAIT_MS_MAX } from './await-ledger.ts'
import { banner } from './banner.ts'

/** The part of DRAIN_SECONDS kept for giving back, if requests take longer. The rest is longer than an order waits by default. */
const GIVE_BACK_SHARE = 1 / 4

/** Where the process writes to. On a terminal it writes for a person, anywhere else for programs: JSON lines and one line when it is ready. */
interface Output {
  readonly print: (line: string) => void
  readonly terminal?: { readonly colours: boolean; readonly columns: () => number }
  /** Calls it when someone asks this process for its last decisions. */
  readonly onDumpAsked?: (dump: () => void) => void
}

export async function serve(config: Config, output: Output, stopping: AbortSignal): Promise<void> {
  const { print, terminal } = output
  const lines = terminal && createTerminalLines(text => print(text.trimEnd()), terminal.colours, terminal.columns)
  const hashKey = config.logsHashedBuyers ? ownSecret(config, systemRandom, 'log-key') : undefined
  const log = createPinoLog(config.logLevel, { lines, hashKey })
  log.info({ event: 'starting', config: config.shown }, 'starting')
  armFaultPoints(config.faultPoints)
  const ledger = await openLedger(config, log)
  const background = new AbortController()
  const leftMs = startedWhenAsked(config.drainMs)
  /** Answers until the server itself does. */
  let lobby: ReturnType<typeof startLobby> | undefined
  try {
    const applied = await awaitLedger(() => ledger.migrate(stopping), {
      clock: systemClock,
      stopping,
      onWaiting(why) {
        log.warn({ event: 'ledger_awaited', why }, 'waiting for the ledger')
        lobby = startLobby({ ...config, log, readiness: () => ['the ledger does not answer'] })
        print(
          `stampede waits on ${lobby.url}: ${why}. It starts when PostgreSQL answers, and ends after ${WAIT_MS_MAX / 1_000} s without an answer.`,
        )
      },
    })
    if (applied === undefined) return
    if (applied.length > 0) log.info({ event: 'migrated', applied }, 'migrations applied')
    let composed: Composed | undefined
    composed = await compose(config, log, ledger, background.signal, () => unreadyReasons(composed, stopping))
    let kill = async () => {}
    output.onDumpAsked?.(() => composed?.dump('signal'))
    try {
      await lobby?.stop()
      const server = composed.serve()
      kill = server.kill
      await run(config, composed, server.url, output, stopping)
      log.info({ event: 'draining' }, 'draining')
      await Promise.race([server.stop(), systemClock.sleep(leftMs() - config.drainMs * GIVE_BACK_SHARE)])
    } finally {
      await kill()
      background.abort()
      await giveBack(composed, leftMs(), log)
    }
  } finally {
    background.abort()
    await lobby?.stop()
    await ledger.close(leftMs())
    log.info({ event: 'stopped' }, 'stopped')
  }
}

/** Empty when ready. */
function unreadyReasons(composed: Composed | undefined, stopping: AbortSignal): string[] {
  const reasons = [...(composed?.missing() ?? ['starting'])]
  if (stopping.aborted) reasons.push('stopping')
  if (composed?.node.ids.healthy() !== true)
    reasons.push('no valid node id: the clock went back, or the ledger is away')
  return reasons
}

/** Until it is told to stop, or a part that must run has ended. */
async function run(config: Config, composed: Composed, url: string, output: Output, stopping: AbortSignal) {
  const { print, terminal } = output
  const notes: string[] = []
  const note = terminal === undefined ? print : (line: string) => void notes.push(line)
  const report: StartReport = {
    standby: why => print(`stampede stands by on ${url}: ${why}`),
    // The banner names what is on sale.
    demo: sale =>
      terminal ??
      print(
        `A demo sale with ${sale.items[0]?.units} units opens in about 30 seconds, and one with a waiting line soon after (DEMO=off to do without).`,
      ),
  }
  if (!(await composed.start(report, stopping))) return
  const { adminTokenPath } = composed
  if (adminTokenPath !== undefined && terminal === undefined) print(`The operator token is in ${adminTokenPath}`)
  for (const line of startNotes(config)) note(line)
  if (terminal !== undefined) {
    const sales = await composed.sales()
    for (const line of banner({ url, config, adminTokenPath, sales, notes, nowMs: systemClock.now() })) print(line)
  }
  print(`stampede ready on ${url}`)
  await Promise.race([aborted(stopping), composed.ended()])
}

/** What to know about how this process was started. */
function startNotes(config: Config): readonly string[] {
  const notes: string[] = []
  if (config.guestSignIn)
    notes.push(
      'Guest sign-in is on: anyone who reaches this address can buy under any name (GUEST_SIGN_IN=off to end that).',
    )
  if (config.paymentProviders.length === 0)
    notes.push('No payment provider is configured: orders can not be paid here (name one in PAYMENT_PROVIDERS).')
  for (const { which, value, words, todo } of unsafeSettings(config))
    notes.push(`WARNING: ${which}=${value}: ${words}: ${todo}.`)
  if (config.threads !== undefined && config.threads !== '1')
    notes.push(
      `WARNING: THREADS=${config.threads} has no effect, this process uses one core: unset it, and start several edges around one Redis to use more (docs/choosing.md).`,
    )
  return notes
}

async function giveBack(composed: Composed, withinMs: number, log: Log): Promise<void> {
  const given = Promise.all(composed.loops.map(loop => loop.stopped)).then(() => composed.close())
  const late = systemClock.sleep(withinMs).then(() => 'late' as const)
  if ((await Promise.race([given, late])) === 'late')
    log.warn({ event: 'stopped_late' }, 'stopped before everything was given back; leases are left to lapse')
}

/** What is left of this time, which begins when it is first asked. */
function startedWhenAsked(totalMs: number): () => number {
  let deadlineMs: number | undefined
  return () => {
    deadlineMs ??= systemClock.elapsed() + totalMs
    return Math.max(0, deadlineMs - systemClock.elapsed())
  }
}
