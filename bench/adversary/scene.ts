/** A server with some defences on, the shipped nginx before it, and a sale that opens soon. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, toRfc3339 } from '../../src/base/clock.ts'
import { freePort } from '../../test/harness/free-port.ts'
import { Till } from '../../test/harness/money.ts'
import { layOutSite } from '../../test/harness/nginx-site.ts'
import { Playground } from '../../test/harness/playground.ts'
import { PROGRAM } from '../../test/harness/program.ts'
import { Stampede } from '../../test/harness/stampede.ts'
import { endable } from '../endable.ts'
import { DEFENCES } from './defences.ts'
import type { Plan } from './population.ts'
import { startRiskHook } from './risk-hook.ts'

export type Scene = Awaited<ReturnType<typeof openScene>>

/** Early callers come before the first ticket is given out. */
const EARLIER_MS = 3_000
const HOUR_MS = 3_600_000
const PAGE_SIZE = 200

export async function openScene(on: ReadonlySet<string>, plan: Plan, clock: Clock) {
  const { units, ticketsForS, payWithinS } = plan
  const playground = new Playground()
  const close = endable(() => playground.undo())
  const chosen = DEFENCES.filter(({ name }) => on.has(name))
  try {
    const hook = await startRiskHook()
    playground.onUndo(() => hook.stop())
    const dataDir = playground.dataDir()
    const server = await Stampede.start(playground, {
      dataDir,
      env: Object.assign(
        { TRUSTED_PROXIES: '127.0.0.1' },
        ...DEFENCES.map(({ name, env, without }) => (on.has(name) ? env?.(hook.url) : without)),
      ),
    })
    const url = await nginxBefore(playground, new URL(server.url()).host)
    const till = new Till(() => server.url())
    const opensAtMs = clock.now() + EARLIER_MS + ticketsForS * 1000
    const sale = (await till.operator('POST', '/sales', {
      name: 'Friday',
      opensAt: toRfc3339(opensAtMs),
      closesAt: toRfc3339(opensAtMs + HOUR_MS),
      items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units, payWithinSeconds: payWithinS }],
      ...Object.assign({}, ...chosen.map(({ terms }) => terms?.(plan))),
    })) as unknown as { id: string; items: { id: string }[] }
    await till.operator('POST', `/sales/${sale.id}/publish`)
    const item = sale.items[0]!.id
    return {
      url,
      dataDir,
      sale: sale.id,
      path: `/api/sales/${sale.id}/items/${item}`,
      opensAtMs,
      /** Every order of the sale. */
      async orders() {
        const all: { buyer: string; state: string; quantity: number }[] = []
        for (let after = ''; ; ) {
          const page = (await till.operator('GET', `/sales/${sale.id}/orders?limit=${PAGE_SIZE}&after=${after}`)) as {
            orders?: typeof all
            next?: string | null
          }
          all.push(...(page.orders ?? []))
          if (typeof page.next !== 'string') return all
          after = page.next
        }
      },
      async audit() {
        const { items } = (await till.operator('GET', `/sales/${sale.id}/audit`)) as {
          items?: { consistent: boolean }[]
        }
        return items?.[0]?.consistent === true
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function nginxBefore(playground: Playground, edge: string): Promise<string> {
  const page = mkdtempSync(join(tmpdir(), 'stampede-page-'))
  playground.onUndo(() => rmSync(page, { recursive: true, force: true }))
  const built = spawnSync(process.execPath, [PROGRAM, 'page', 'build', '--out', page], { encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`the page could not be built: ${built.stderr}`)
  const port = await freePort()
  const site = await layOutSite(playground, {
    site: 'compose/nginx.conf',
    page,
    instead: [
      ['listen 80 ', `listen 127.0.0.1:${port} `],
      ['edge-a:8080', edge],
      ['server edge-b:8080 weight=1 max_fails=1 fail_timeout=1s;', ''],
    ],
  })
  await site.start()
  return `http://127.0.0.1:${port}`
}
