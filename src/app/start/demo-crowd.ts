/**
 * "Bring the crowd": simulated buyers for the demo sales. They are a process of their own, so that the server is not busy playing its own buyers,
 * and they come over HTTP like all buyers. One crowd a sale at a time, bounded in time; it ends with this process, however that ends (its standard input closes).
 *
 * States, per demo sale: offered → running → done → running …; a crowd that fails is offered again. Not kept over a restart.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnd } from '../../base/child-end.ts'
import type { Clock } from '../../base/clock.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import { demoRoutes } from '../../edge/routes/page-routes.ts'
import type { DemoAnswer } from '../../wire/answers.ts'
import type { ProcessContext } from '../process-context.ts'

/** The hidden command that plays the buyers. */
export const CROWD_COMMAND = 'demo-crowd'

/** What the crowd is told, as one line of JSON on its standard input. */
export interface CrowdTask {
  readonly url: string
  readonly sale: string
  readonly item: string
  readonly opensAtMs: number
  readonly buyers: number
  /** The sale has a waiting line. */
  readonly hasLine: boolean
}

const BUYERS = 2_000
/** In the line, which lets them in slowly. */
const BUYERS_IN_LINE = 1_000
const CROWD_MS_MAX = 90_000
/** A sale that opens later than this gets no crowd: its time would be over before it has bought. */
const OPENING_MS_MAX = 60_000
const MAIN = join(import.meta.dirname, '../../main.ts')
const STDERR_LENGTH_MAX = 2_000

export function createDemoCrowd(
  { config, catalog, clock, log }: Pick<ProcessContext, 'config' | 'catalog' | 'clock' | 'log'>,
  url: () => string,
  edge: Parameters<typeof demoRoutes>[2],
) {
  const stopping = new AbortController()
  const running = new Map<SaleId, Promise<void>>()
  const done = new Set<SaleId>()

  /** A demo sale (flows/operate/demo-sales.ts), the first one unless another is named, while it can be bought from. The crowd can only come as guests. */
  async function findSale(id: SaleId | undefined): Promise<Sale | undefined> {
    if (!config.demo || !config.guestSignIn || stopping.signal.aborted) return undefined
    const nowMs = clock.now()
    const sales = await catalog.list()
    return sales.find(
      sale =>
        (id === undefined ? isFirst(sale) : sale.id === id && isDemo(sale)) &&
        sale.state === 'ready' &&
        nowMs < sale.closesAtMs &&
        sale.opensAtMs - nowMs < OPENING_MS_MAX,
    )
  }

  function describe(sale: Sale | undefined): DemoAnswer {
    if (sale === undefined) return { crowd: 'off', buyers: BUYERS }
    const crowd = running.has(sale.id) ? 'running' : done.has(sale.id) ? 'done' : 'offered'
    return { crowd, sale: sale.id, buyers: buyersOf(sale) }
  }

  async function bring(id: SaleId | undefined): Promise<DemoAnswer | undefined> {
    const sale = await findSale(id)
    const item = sale?.items[0]
    if (sale === undefined || item === undefined) return undefined
    if (!running.has(sale.id) && !stopping.signal.aborted) {
      const buyers = buyersOf(sale)
      log.info({ event: 'demo_crowd_started', sale: sale.id, buyers }, 'demo crowd started')
      const task = { url: url(), sale: sale.id, item: item.id, opensAtMs: sale.opensAtMs, buyers }
      running.set(sale.id, play(sale.id, { ...task, hasLine: sale.line !== undefined }))
    }
    return describe(sale)
  }

  /** Never rejects: a crowd that fails is only logged. */
  async function play(sale: SaleId, task: CrowdTask): Promise<void> {
    const failure = await runCrowd(task, clock, stopping.signal)
    running.delete(sale)
    if (failure === undefined) done.add(sale)
    else if (!stopping.signal.aborted)
      log.warn({ event: 'demo_crowd_failed', sale: task.sale, why: failure }, 'demo crowd failed')
  }

  return {
    routes: demoRoutes(async sale => describe(await findSale(sale)), bring, edge),
    /** Resolves when the crowds' processes have ended. */
    async stop() {
      stopping.abort()
      await Promise.all(running.values())
    },
  }
}

/** The crowd's process, from start to end; killed when its time is up. Answers what it wrote to stderr, if it failed. */
async function runCrowd(task: CrowdTask, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  const child = spawn(process.execPath, [MAIN, CROWD_COMMAND], { stdio: ['pipe', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_LENGTH_MAX)
  })
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify(task)}\n`)
  const ended = new Promise<void>(end => {
    void childEnd(child).then(() => end())
    child.once('error', error => {
      stderr = error.message
      end()
    })
  })
  const timer = new AbortController()
  await Promise.race([ended, clock.sleep(CROWD_MS_MAX, AbortSignal.any([signal, timer.signal]))])
  timer.abort()
  // It holds nothing that has to be given back.
  child.kill('SIGKILL')
  await ended
  return child.exitCode === 0 ? undefined : stderr.trim()
}

function isFirst(sale: Sale): boolean {
  return sale.name === 'Demo sale' && sale.items[0]?.sku === 'DEMO-1'
}

function isDemo(sale: Sale): boolean {
  return isFirst(sale) || (sale.name.startsWith('Demo sale') && sale.items[0]?.sku === 'DEMO-2')
}

function buyersOf({ line }: Sale): number {
  return line === undefined ? BUYERS : BUYERS_IN_LINE
}
