/**
 * What every live socket sees alike: how many units are left of each item on sale, and the sales. Looked at in rounds, serialised once
 * for everybody, and only told when it has changed, so an item is told at most once per round however fast it sells. With many sockets
 * the rounds are further apart: telling costs a write per socket, and the crowd at the door needs that time more.
 *
 * A newcomer is shown what is true now. Where that is more than the others were told, it is owed to them and told in the next round, even
 * if it has changed back by then: after a round all sockets have been told the same.
 */

import type { Clock } from '../../base/clock.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import { type Sale, saleState } from '../../domain/sale.ts'
import type { Registry } from '../../flows/sell/live-item.ts'
import type { LocalView } from '../../gate/local-view.ts'
import { type LeftOf, wireSale } from '../answers.ts'

interface LiveBoardParts {
  readonly registry: Registry
  readonly near: LocalView
  readonly clock: Clock
  /** To every socket. */
  readonly tell: (text: string) => void
}

interface LiveBoard {
  /** Tells what has changed since the last round. */
  round(sockets: number): void
  /** All of it, for a newcomer. */
  current(): readonly string[]
  saleChanged(sale: Sale): void
}

/** What was written for one item or one sale. */
interface Line {
  /** What the text depends on, as far as a change of it is worth telling. */
  readonly key: string
  readonly text: string
  owed: boolean
}

/** Four times a second at most. */
export const ROUND_EVERY_MS = 250
/** Beyond 2,000 sockets the rounds are stretched, to keep to this many writes a second. */
const WRITES_PER_MS_MAX = 8

export function createLiveBoard({ registry, near, clock, tell }: LiveBoardParts): LiveBoard {
  const stock = new Map<ItemId, Line>()
  const sales = new Map<SaleId, Line>()
  const leftOf: LeftOf = item => near.statusNow(item)?.left
  let toldAtMs = Number.NEGATIVE_INFINITY

  /** Brings one line up to date, and says whether it was not. */
  function renew(lines: Map<string, Line>, id: string, key: string, write: () => unknown): Line | undefined {
    if (lines.get(id)?.key === key) return undefined
    const line = { key, text: JSON.stringify(write()), owed: false }
    lines.set(id, line)
    return line
  }

  function renewAll(changed: (line: Line) => void): void {
    for (const sale of liveSales()) {
      const line = renew(sales, sale.id, saleKey(sale), () => saleMessage(sale))
      if (line !== undefined) changed(line)
    }
    for (const { sale, item } of registry.values()) {
      const left = leftOf(item.id)
      if (left === undefined) continue
      const line = renew(stock, item.id, String(left), () => ({ type: 'stock', sale: sale.id, item: item.id, left }))
      if (line !== undefined) changed(line)
    }
  }

  function liveSales(): Iterable<Sale> {
    const found = new Map<SaleId, Sale>()
    for (const { sale } of registry.values()) found.set(sale.id, sale)
    return found.values()
  }

  function saleMessage(sale: Sale): unknown {
    return { type: 'sale', sale: wireSale(sale, near.nowMs(), leftOf) }
  }

  /** How many are left is told as stock, so only the state that follows from it counts here. */
  function saleKey(sale: Sale): string {
    const left = sale.items.reduce((sum, item) => sum + (leftOf(item.id) ?? item.available), 0)
    const units = sale.items.map(item => item.units).join()
    return [saleState(sale, near.nowMs(), left), sale.name, sale.opensAtMs, sale.closesAtMs, units].join('|')
  }

  /** What left the shelf will not be told again. */
  function forgetGone(): void {
    const liveItem = new Set(Array.from(liveSales(), sale => sale.id))
    for (const id of sales.keys()) if (!liveItem.has(id)) sales.delete(id)
    for (const id of stock.keys()) if (!registry.has(id)) stock.delete(id)
  }

  return {
    round(sockets) {
      if (sockets === 0 || clock.elapsed() - toldAtMs < sockets / WRITES_PER_MS_MAX) return
      toldAtMs = clock.elapsed()
      forgetGone()
      renewAll(line => {
        line.owed = true
      })
      for (const lines of [sales, stock]) {
        for (const line of lines.values()) {
          if (!line.owed) continue
          line.owed = false
          tell(line.text)
        }
      }
    },
    current() {
      forgetGone()
      renewAll(line => {
        line.owed = true
      })
      return [...sales.values(), ...stock.values()].map(line => line.text)
    },
    saleChanged(sale) {
      if (sale.state === 'draft') return
      if (sale.items.some(item => registry.has(item.id))) {
        const line = renew(sales, sale.id, saleKey(sale), () => saleMessage(sale))
        if (line !== undefined) tell(line.text)
      } else tell(JSON.stringify(saleMessage(sale)))
    },
  }
}
