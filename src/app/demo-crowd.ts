/**
 * "Bring the crowd": lets simulated buyers loose on the demo sale. They are a process of their own, so that the server is not busy
 * playing its own buyers, and they come over HTTP like everybody else: nothing is made easier for them.
 * One crowd at a time, bounded in time; it ends with this process, however this process ends (its standard input closes).
 *
 * States, per demo sale: offered → running → done → running …; a crowd that fails is offered again. Not kept over a restart.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnd } from '../base/child-end.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import type { Route } from '../edge/http/exchange.ts'
import { demoRoutes } from '../edge/routes/demo-routes.ts'
import type { DemoAnswer } from '../wire/answers.ts'
import type { Config } from './config.ts'

/** The hidden command that plays the buyers. */
export const CROWD_COMMAND = 'demo-crowd'

/** What the crowd is told, as one line of JSON on its standard input. */
export interface CrowdTask {
  readonly url: string
  readonly sale: string
  readonly item: string
  readonly opensAtMs: number
  readonly buyers: number
}

interface DemoCrowdParts {
  readonly catalog: Pick<Catalog, 'list'>
  readonly clock: Clock
  readonly log: Log
  readonly url: () => string
  readonly trusts: (request: Request) => boolean
}

interface DemoCrowd {
  readonly routes: readonly Route[]
  /** Resolves when nothing of it is left. */
  stop(): Promise<void>
}

const BUYERS = 2_000
const CROWD_MS_MAX = 90_000
/** An opening further away is nothing to wait for: the crowd would have to go home before it has bought. */
const OPENING_MS_MAX = 60_000
const MAIN = join(import.meta.dirname, '../main.ts')
const SAID_MAX = 2_000

export function createDemoCrowd(config: Pick<Config, 'demo' | 'guestSignIn'>, parts: DemoCrowdParts): DemoCrowd {
  const { catalog, clock, log, url, trusts } = parts
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let done: SaleId | undefined

  /** The one that a first start makes (flows/operate/demo-sale.ts), while it can be bought from. The crowd can only come as guests. */
  async function findSale(): Promise<Sale | undefined> {
    if (!config.demo || !config.guestSignIn || stopping.signal.aborted) return undefined
    const nowMs = clock.now()
    const sales = await catalog.list()
    return sales.find(
      sale =>
        isDemo(sale) && sale.state === 'ready' && nowMs < sale.closesAtMs && sale.opensAtMs - nowMs < OPENING_MS_MAX,
    )
  }

  function describe(sale: Sale | undefined): DemoAnswer {
    if (sale === undefined) return { crowd: 'off', buyers: BUYERS }
    const crowd = running !== undefined ? 'running' : done === sale.id ? 'done' : 'offered'
    return { crowd, sale: sale.id, buyers: BUYERS }
  }

  /** Never rejects: a crowd that fails is a line in the log, and nothing else. */
  async function play(task: CrowdTask): Promise<void> {
    const child = spawn(process.execPath, [MAIN, CROWD_COMMAND], { stdio: ['pipe', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-SAID_MAX)
    })
    child.stdin.on('error', () => {})
    child.stdin.write(`${JSON.stringify(task)}\n`)
    const ended = new Promise<void>(end => {
      void childEnd(child).then(() => end())
      child.once('error', error => {
        said = error.message
        end()
      })
    })
    const enough = new AbortController()
    const stop = () => enough.abort()
    stopping.signal.addEventListener('abort', stop)
    await Promise.race([ended, clock.sleep(CROWD_MS_MAX, enough.signal)])
    enough.abort()
    stopping.signal.removeEventListener('abort', stop)
    // It holds nothing that would have to be put away.
    child.kill('SIGKILL')
    await ended
    if (child.exitCode === 0) done = task.sale
    else if (!stopping.signal.aborted) log.warn({ sale: task.sale, why: said.trim() }, 'the demo crowd did not finish')
  }

  async function bring(): Promise<DemoAnswer | undefined> {
    const sale = await findSale()
    const item = sale?.items[0]
    if (sale === undefined || item === undefined) return undefined
    if (running === undefined && !stopping.signal.aborted) {
      log.info({ sale: sale.id, buyers: BUYERS }, 'bringing the demo crowd')
      const task = { url: url(), sale: sale.id, item: item.id, opensAtMs: sale.opensAtMs, buyers: BUYERS }
      running = play(task).finally(() => {
        running = undefined
      })
    }
    return describe(sale)
  }

  return {
    routes: demoRoutes({ look: async () => describe(await findSale()), bring, trusts }),
    async stop() {
      stopping.abort()
      await running
    },
  }
}

function isDemo(sale: Sale): boolean {
  return sale.name === 'Demo sale' && sale.items[0]?.sku === 'DEMO-1'
}
