/** The details of a line of the log as a person reads them. What has no words here is shown as it is stored. */

import { formatCount, formatMoney, formatTime } from './format.ts'
import type { LogLine, Sale } from './shapes.ts'
import { logWords } from './words/log.ts'
import { words } from './words.ts'

type Details = Readonly<Record<string, unknown>>

interface Change {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** @param sale the sale that the line is about, where it is known */
export function meaningOf(line: LogLine, sale: Sale | undefined): string {
  const details = isDetails(line.details) ? line.details : {}
  const text = logWords()
  switch (line.action) {
    case 'sale.edit':
      return changesOf(details)
        .map(change => changed(change, sale))
        .join('; ')
    case 'stock.change':
      return joined(
        sale?.items.find(item => item.id === line.item)?.name,
        typeof details.delta === 'number' && `${details.delta > 0 ? '+' : ''}${formatCount(details.delta)}`,
        details.reason,
      )
    case 'order.refund':
      return joined(details.restock === true && text.restock, details.reason)
    case 'order.refund_part':
      return joined(isMoney(details.amount) && formatMoney(details.amount), details.reason)
    case 'sale.reconcile':
      return details.differences === 0 ? words().reconciledClean : rawDetails(details)
    case 'sale.delete':
      return joined(details.name)
    case 'operator.sign_in':
      return joined(details.role, details.address)
    case 'list.add':
    case 'list.remove':
      return joined(details.kind, details.value, details.reason)
    default:
      return rawDetails(details)
  }
}

/** `delta: 5, reason: more`; nested values as JSON. */
export function rawDetails(details: unknown): string {
  if (!isDetails(details)) return ''
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

function joined(...parts: readonly unknown[]): string {
  return parts.filter(part => typeof part === 'string' && part !== '').join(' · ')
}

function changed({ field, from, to }: Change, sale: Sale | undefined): string {
  const text = logWords()
  const [, no, own] = /^items\.(\d+)\.(\w+)$/.exec(field) ?? []
  const name = text.fields[own ?? field] ?? own ?? field
  const currency = sale?.items[Number(no ?? 0)]?.price.currency
  const shown = (value: unknown) => {
    if (value === null || value === undefined || value === '') return text.nothing
    if (/At$/.test(field) && typeof value === 'string') return formatTime(value)
    if (typeof value !== 'number') return typeof value === 'string' ? `“${value}”` : JSON.stringify(value)
    const isAmount = (own === 'price' || own === 'listPrice') && currency !== undefined
    return isAmount ? formatMoney({ amount: value, currency }) : formatCount(value)
  }
  return `${no === undefined ? name : text.ofItem(`${Number(no) + 1}`, name)}: ${shown(from)} → ${shown(to)}`
}

function changesOf({ changes }: Details): readonly Change[] {
  return Array.isArray(changes) ? changes.filter(one => isDetails(one) && typeof one.field === 'string') : []
}

function isMoney(value: unknown): value is { readonly amount: number; readonly currency: string } {
  return isDetails(value) && typeof value.amount === 'number' && typeof value.currency === 'string'
}

function isDetails(value: unknown): value is Details {
  return typeof value === 'object' && value !== null
}
