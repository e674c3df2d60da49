/**
 * The buyer's page with sales inside, to be served as a file: the first view needs no call, and there is one while no server answers. The same
 * sale gives the same bytes: nothing in it depends on the time or on the stock, which the page asks for. Below the page's script stands what
 * a reader without a script sees.
 *
 * Names and texts of a sale are data: escaped in HTML, and in the JSON, which no browser runs.
 */

import { formatMoney } from '../domain/money.ts'
import type { Sale } from '../domain/sale.ts'
import type { StockView } from '../flows/sell/live-item.ts'
import type { ItemAnswer, SaleAnswer } from '../wire/answers.ts'
import { wireSale } from './answers.ts'
import { CONTENT_SECURITY_POLICY } from './pages.ts'

/** Of a text in the head. */
const TEXT_LENGTH_MAX = 200
/** Shown without a script. */
const ITEMS_MAX = 20

/** What buyers see of a sale that no gate has been asked about: all units, and no state that comes by itself. */
export function writtenSale(sale: Sale, offersOf: StockView['offersOf']): SaleAnswer {
  const units = new Map(sale.items.map(item => [item.id, item.units]))
  const nowMs = () => Math.min(sale.opensAtMs, sale.closesAtMs) - 1
  return wireSale(sale, { nowMs, leftOf: item => units.get(item), ...(offersOf !== undefined && { offersOf }) })
}

/** @param template the page without sales */
export function salePage(template: string, sale: SaleAnswer): string {
  const image = sale.items.find(item => item.image?.startsWith('https://'))?.image
  const title = escapeHtml(sale.name.slice(0, TEXT_LENGTH_MAX))
  return filled(template, {
    title: `${title} · Stampede`,
    head: [
      `<meta property="og:title" content="${title}">`,
      ...(image === undefined ? [] : [`<meta property="og:image" content="${escapeHtml(image)}">`]),
    ],
    body: saleHtml(sale),
    data: { sales: [sale], all: false },
  })
}

/** The front page. */
export function indexPage(template: string, sales: readonly SaleAnswer[]): string {
  const links = sales.map(sale => `<li><a href="/s/${sale.id}" dir="auto">${escapeHtml(sale.name)}</a></li>`)
  return filled(template, {
    title: 'Stampede',
    head: [],
    body: `<main id="main"><ul>${links.join('')}</ul></main>`,
    data: { sales: sales.map(listed), all: true },
  })
}

/** As in the list of sales: nothing that only its own page shows. */
function listed(sale: SaleAnswer): SaleAnswer {
  return { ...sale, items: sale.items.map(({ description: _, ...item }) => item) }
}

interface Filling {
  readonly title: string
  readonly head: readonly string[]
  readonly body: string
  readonly data: { readonly sales: readonly SaleAnswer[]; readonly all: boolean }
}

/** A policy in the page itself holds where the files lie with a host that sends no headers; this part is only for headers. */
const POLICY = CONTENT_SECURITY_POLICY.replace(/; frame-ancestors [^;]*/, '')

function filled(template: string, { title, head, body, data }: Filling): string {
  const policy = `<meta http-equiv="content-security-policy" content="${escapeHtml(POLICY)}">`
  const json = `<script type="application/json" id="sales">${embeddedJson(data)}</script>`
  const parts: readonly (readonly [string, string])[] = [
    ['<meta charset="utf-8">', `<meta charset="utf-8">\n${policy}`],
    ['<title>Stampede</title>', [`<title>${title}</title>`, ...head].join('\n')],
    ['<div id="page"></div>', `<div id="page">${body}</div>\n${json}`],
  ]
  return parts.reduce((html, [from, to]) => html.replace(from, () => to), template)
}

function saleHtml(sale: SaleAnswer): string {
  const items = sale.items.slice(0, ITEMS_MAX).map(itemHtml)
  const opens = `<p class="eyebrow"><time datetime="${sale.opensAt}">${sale.opensAt.slice(0, 16).replace('T', ' ')} UTC</time></p>`
  return `<main id="main"><h1 class="item-name" dir="auto">${escapeHtml(sale.name)}</h1>${opens}${items.join('')}</main>`
}

function itemHtml({ name, price, description }: ItemAnswer): string {
  const text = description === undefined ? '' : `<p class="description" dir="auto">${escapeHtml(description)}</p>`
  return `<article class="item"><div class="item-words"><h2 class="item-name" dir="auto">${escapeHtml(name)}</h2><p>${escapeHtml(formatMoney(price, 'en'))}</p>${text}</div></article>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, one => ENTITIES[one]!)
}

/** JSON that can stand in a script element: nothing in it ends the element or begins a comment, and no line ends inside a text. */
function embeddedJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
