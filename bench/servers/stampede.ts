/** The real thing, as an operator would run it: `stampede serve` with its embedded PostgreSQL in a folder of its own. */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTicketOffice, parseTicketKeys, type TicketOffice } from '../../src/admission/ticket.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { startChild } from './child.ts'

export interface ItemOnSale {
  readonly sale: string
  readonly item: string
}

/** The part of an audit line that the bench holds against what its buyers were told. */
interface Books {
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly gate: { readonly left: number; readonly held: number } | null
  readonly consistent: boolean
}

export interface Stampede {
  readonly pid: number
  readonly target: Target
  readonly tickets: TicketOffice
  readonly ticketKeys: string
  readonly postgres: { readonly pid: number; readonly socketFolder: string }
  /** A sale with one item, open now and for the next hour. */
  openSale(units: number): Promise<ItemOnSale>
  audit(on: ItemOnSale): Promise<Books>
  stop(): Promise<void>
}

const ADMIN_TOKEN = 'only-for-the-bench-0123456789'
const TICKET_KEYS = 'bench:a-secret-only-for-the-bench'
const HOUR_MS = 3_600_000

export async function startStampede(nowMs: () => number): Promise<Stampede> {
  const dataDir = await mkdtemp(join(tmpdir(), 'stampede-bench-data-'))
  const child = await startChild('../../src/main.ts', ['serve'], {
    PORT: '0',
    DATA_DIR: dataDir,
    ADMIN_TOKEN,
    TICKET_KEYS,
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    // Every buyer comes from one address here: limits are measured by a case of their own.
    RATE_PER_ADDRESS: 'off',
    RATE_PER_BUYER: 'off',
  }).catch(async (error: unknown) => {
    await rm(dataDir, { recursive: true, force: true })
    throw error
  })

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`http://${child.target.host}:${child.target.port}/api/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${answer}`)
    return JSON.parse(answer)
  }

  async function stop(): Promise<void> {
    await child.stop()
    await rm(dataDir, { recursive: true, force: true })
  }

  try {
    const lines = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
    return {
      pid: child.pid,
      target: child.target,
      tickets: createTicketOffice(parseTicketKeys(TICKET_KEYS)),
      ticketKeys: TICKET_KEYS,
      postgres: { pid: Number(lines[0]), socketFolder: lines[4]! },
      async openSale(units) {
        const sale = (await call('POST', '/sales', {
          name: 'Bench',
          opensAt: new Date(nowMs() - 1_000).toISOString(),
          closesAt: new Date(nowMs() + HOUR_MS).toISOString(),
          items: [{ name: 'Bench item', price: { amount: 19_900, currency: 'CNY' }, units }],
        })) as { id: string; items: { id: string }[] }
        await call('POST', `/sales/${sale.id}/publish`)
        return { sale: sale.id, item: sale.items[0]!.id }
      },
      async audit(on) {
        const { items } = (await call('GET', `/sales/${on.sale}/audit`)) as { items: Books[] }
        return items[0]!
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
