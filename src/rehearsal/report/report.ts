/**
 * The report as one HTML page: the verdict, the figures, the pictures and the settings. Self-contained: no script, no font, no external
 * address. Light or dark by the reader's own setting. Every figure comes from the result.
 */

import { targetOf } from '../crowd/connections.ts'
import { describeFault } from '../fault/mid-run-fault.ts'
import { describeConstant, type Rehearsal } from '../result.ts'
import { showMs, whole } from '../verdict/verdict.ts'
import { funnelPicture, latencyPicture, rowPicture, stockPicture, trafficPicture } from './pictures.ts'
import { quote } from './plot.ts'
import { STYLE } from './style.ts'

const ANSWERS: Readonly<Record<string, string>> = {
  placed: 'order placed',
  reserved: 'reserved, to be placed in a moment',
  reserved_refused: 'refused after it was reserved',
  busy: 'busy, asked to come later',
  same: 'the same order again (a second click, or a retry)',
  early: 'not open yet (an early click)',
  unknown: 'no answer: the connection broke, or nothing came for 20 s',
  rate_limited: 'too many requests',
  'line joined': 'joined the line',
  'line sold_out': 'in line: sold out',
  time: 'the time (before the opening)',
  'bot invalid': 'bots: no valid ticket',
  'bot sold_out': 'bots: sold out',
  'bot rate_limited': 'bots: too many requests',
}

export function renderReport(result: Rehearsal): string {
  const { verdict } = result
  const mark = verdict === 'green' ? '✓' : '✕'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Rehearsal: ${quote(result.sentence)}</title>
<style>${STYLE}</style>
</head>
<body class="${verdict}">
<main>
<header>
<p class="kicker">Stampede rehearsal · ${quote(result.startedAt.slice(0, 16).replace('T', ' '))} UTC</p>
<h1><span class="mark" aria-hidden="true">${mark}</span>${headline(result)}</h1>
<p class="sentence" data-figure="sentence">${quote(capital(result.sentence))}.</p>
${faultLine(result)}${reasonList(result)}
</header>
${figures(result)}
${card(
  'Clicks and answers',
  'Added up. The dashed line counts clicks, the area counts answers; the gap between them is the queue.',
  legend({
    clicks: 'clicks',
    orders: 'orders',
    refusals: 'refusals',
    later: 'asked to come later',
    errors: 'errors',
  }) + trafficPicture(result),
  'card wide',
)}
<div class="pair">
${card('Stock', `${soldOut(result)} The line rises when a cancelled order returns its units.`, stockPicture(result))}
${card(
  'From click to row',
  `Time until an order was committed and its buyer was told. ${halfPlaced(result)}`,
  rowPicture(result),
)}
${card(
  'Latency',
  'From the planned moment of the click, queueing included. A click without an answer keeps waiting.',
  legend({ refusals: 'every click', orders: 'placed orders' }) + latencyPicture(result),
)}
${card('Funnel', 'How far buyers got. The bars are logarithmic.', funnelPicture(result))}
</div>
<div class="pair">
${card(
  'Promises',
  'Checked against what buyers were told, the audit, the orders and the payments.',
  table(result.promises.map(promiseRow)),
)}
${card('Answers', 'Every answer to a click, by what it said.', table(answerRows(result)))}
</div>
${card('Settings', undefined, table(settingRows(result), 'settings'), 'card wide')}
</main>
</body>
</html>
`
}

function headline({ verdict, partial, promises }: Rehearsal): string {
  if (partial !== null) return 'Not finished'
  if (verdict === 'red') return 'A promise was not kept'
  const judged = promises.every(one => one.notJudged === null)
  return judged ? 'Every promise kept' : 'Every promise that could be judged was kept'
}

function faultLine({ fault }: Rehearsal): string {
  if (fault === null) return ''
  return `<p class="fault-line" data-figure="fault">${quote(capital(describeFault(fault)))}.</p>`
}

function reasonList({ reasons }: Rehearsal): string {
  if (reasons.length === 0) return ''
  return `<ul class="reasons">${reasons.map(reason => `<li>${quote(reason)}</li>`).join('')}</ul>`
}

/** By the ledger's own clock. */
function soldOut({ stock, books }: Rehearsal): string {
  if (books === null) return 'What was sold is not known.'
  const atMs = stock.find(([, left]) => left === 0)?.[0]
  return atMs === undefined ? 'Never sold out.' : `Sold out ${showMs(Math.max(0, atMs))} after the opening.`
}

function halfPlaced({ clickToRow: { count, p50 } }: Rehearsal): string {
  return count === 0 ? 'No buyer was told of one.' : `Half of them within ${showMs(p50)}.`
}

function figures(result: Rehearsal): string {
  const { books, buyers, latency } = result
  const known = (value: number | undefined) => (value === undefined ? 'unknown' : whole(value))
  const ms = (count: number, value: number) => (count === 0 ? 'unknown' : showMs(value))
  const cards: [name: string, key: string, value: string, note: string][] = [
    ['sold', 'sold', known(books?.sold), `of ${whole(result.settings.units)} units`],
    ['order rows', 'liveOrderRows', known(books?.liveOrderRows), rowsNote(books)],
    ['answered', 'answered', whole(buyers.answered), `of ${whole(buyers.all)} buyers`],
    ['p99', 'p99', ms(latency.count, latency.p99), `half within ${ms(latency.count, latency.p50)}`],
    ['last answer', 'lastAnswerMs', ms(buyers.answered, result.lastAnswerMs), 'after the opening'],
    ['peak', 'peakPerSecond', whole(result.peakPerSecond), 'answers a second'],
  ]
  const shown = cards.map(
    ([name, key, value, note]) =>
      `<div><dt>${name}</dt><dd><strong data-figure="${key}">${value}</strong><span>${note}</span></dd></div>`,
  )
  return `<dl class="figures">${shown.join('')}</dl>`
}

function rowsNote(books: Rehearsal['books']): string {
  if (books === null) return ''
  return books.closed === 0 ? 'live in the ledger' : `live, and ${whole(books.orderRows - books.liveOrderRows)} closed`
}

type Row = readonly [name: string, value: string, kind?: string]

function promiseRow({ name, broken, notJudged }: Rehearsal['promises'][number]): Row {
  if (broken > 0) return [name, `broken ${broken === 1 ? 'once' : `${whole(broken)} times`}`, 'broken']
  return notJudged === null ? [name, 'kept', 'kept'] : [name, `not judged: ${notJudged}`, 'unknown']
}

function answerRows({ answers, unexpected }: Rehearsal): Row[] {
  const all = [...Object.entries(answers), ...Object.entries(unexpected)]
  return all.map(([name, count]) => [ANSWERS[name] ?? name.replaceAll('_', ' '), whole(count)])
}

/** States only what is known here: a running server may limit requests or not. */
function settingRows(result: Rehearsal): Row[] {
  const { settings, server, sale, seed, requests, fault, constant, notes, line } = result
  const throwaway = server.kind === 'throwaway'
  const shared = targetOf(server.url).note !== undefined
  const addresses = shared ? 'all from one address' : 'each from an address of its own'
  const limits = throwaway ? 'the server’s limits were on' : 'whether the server limits requests is not known here'
  const started = 'started for this rehearsal, with its own PostgreSQL, on the same machine'
  const rows: (Row | false)[] = [
    ['crowd', `${whole(settings.buyers)} buyers, ${settings.shape}`],
    ['mix', settings.mix],
    ...lineRows(line),
    settings.shards > 1 && ['shards', String(settings.shards)],
    ['connections', `${whole(settings.connections)}, ${addresses}; ${limits}`],
    ['requests', `${whole(requests)}, without those for tickets`],
    ['server', throwaway ? started : server.url],
    ['sale', `${sale.name} (${sale.id})`],
    fault !== null && ['fault', describeFault(fault)],
    constant !== null && ['for comparison', describeConstant(constant)],
    ['machine', settings.machine],
    ['seed', String(seed)],
    ...notes.map((note): Row => ['note', note]),
  ]
  return rows.filter(row => row !== false)
}

function lineRows(line: Rehearsal['line']): Row[] {
  if (line === null) return []
  const { joins, joinsPerSecond, letIn, letInPerSecond, join, wait } = line
  const rate = letInPerSecond === null ? 'all at once' : `${letInPerSecond} a second`
  return [
    ['joined the line', `${whole(joins)}, ${whole(joinsPerSecond)} a second; p99 of a join ${showMs(join.p99)}`],
    ['let in', `${whole(letIn)}, ${rate}`],
    ['wait in line', wait.count === 0 ? 'none was let in' : `half within ${showMs(wait.p50)}, p99 ${showMs(wait.p99)}`],
  ]
}

function card(title: string, hint: string | undefined, body: string, kind = 'card'): string {
  const under = hint === undefined ? '' : `\n<p class="hint">${hint}</p>`
  return `<section class="${kind}">\n<h2>${title}</h2>${under}\n${body}\n</section>`
}

function legend(kinds: Readonly<Record<string, string>>): string {
  const items = Object.entries(kinds).map(([kind, name]) => `<li class="${kind}">${name}</li>`)
  return `<ul class="legend">${items.join('')}</ul>`
}

function table(rows: readonly Row[], kind = ''): string {
  const lines = rows.map(
    ([name, value, state = '']) =>
      `<tr class="${state}"><th scope="row">${quote(name)}</th><td>${quote(value)}</td></tr>`,
  )
  return `<table class="${kind}">${lines.join('')}</table>`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
