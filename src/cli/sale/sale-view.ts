/** A sale as a person reads it in a terminal. */

import type { OperatorSaleAnswer } from '../../wire/answers.ts'
import { card, money, print, printJson, table } from '../table.ts'
import type { ServerOptions } from './client.ts'

export async function printSale(sale: OperatorSaleAnswer, { json }: ServerOptions): Promise<void> {
  if (json) return printJson(sale)
  const head = card([
    ['sale', sale.id],
    ['name', sale.name],
    ['state', sale.state],
    ['opens', sale.opensAt],
    ['closes', sale.closesAt],
    ['rule', sale.rule],
  ])
  const items = table(sale.items, [
    { title: 'item', of: item => item.id },
    { title: 'left', of: item => item.left, right: true },
    { title: 'units', of: item => item.units, right: true },
    { title: 'price', of: item => money(item.price), right: true },
    { title: 'per order', of: item => item.quantityMax, right: true },
    { title: 'attempts', of: item => item.attemptsMax, right: true },
    { title: 'pay within', of: item => `${item.payWithinSeconds} s`, right: true },
    { title: 'sku', of: item => item.sku },
    { title: 'name', of: item => item.name },
  ])
  await print(`${head}\n${items}`)
}
