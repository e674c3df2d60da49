/**
 * One page that a person would show around: the verdict, the figures, the pictures, and what it was made with. Self-contained: no
 * script, no font, no address of anything else. Light and dark by the reader's own setting. Every figure comes from the result.
 */

import { describeFault } from '../fault/mid-run-fault.ts'
import type { Rehearsal } from '../result.ts'
import { showMs } from '../verdict/verdict.ts'
import { madeWith } from './made-with.ts'
import { funnelPicture, latencyPicture, rowPicture, stockPicture, trafficPicture } from './pictures.ts'
import { quote, whole } from './plot.ts'
import { STYLE } from './style.ts'

/** Answers in a person's words. */
const SAID: Readonly<Record<string, string>> = {
  placed: 'order placed',
  reserved: 'reserved, to be placed in a moment',
  reserved_refused: 'refused after it was reserved',
  busy: 'busy, asked to come later',
  same: 'the same order again (a second click, or a retry)',
  early: 'not open yet (an early click)',
  unknown: 'no answer: the connection broke, or nothing came for 20 s',
  rate_limited: 'too many requests',
  time: 'the time (before the opening)',
  'bot invalid': 'bots: no valid ticket',
  'bot sold_out': 'bots: sold out',
  'bot rate_limited': 'bots: too many requests',
}

export function renderReport(result: Rehearsal): string {
  const { verdict, partial } = result
  const judged = result.promises.every(one => one.notJudged === null)
  const kept = judged ? 'Every promise kept' : 'Every promise that could be judged was kept'
  const word = partial !== null ? 'Not finished' : verdict === 'green' ? kept : 'A promise was not kept'
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
<h1><span class="mark" aria-hidden="true">${verdict === 'green' ? '✓' : '✕'}</span>${word}</h1>
<p class="sentence" data-figure="sentence">${quote(capital(result.sentence))}.</p>
${faultLine(result)}${reasons(result)}
</header>
${figures(result)}
<section class="card wide">
<h2>Clicks and answers</h2>
<p class="hint">Added up. The dashed line is how many had clicked, the area how many were answered; the gap is the line they stood in.</p>
<ul class="legend"><li class="clicks">clicks</li><li class="orders">orders</li><li class="refusals">refusals</li><li class="later">asked to come later</li><li class="errors">errors</li></ul>
${trafficPicture(result)}
</section>
<div class="pair">
<section class="card">
<h2>Stock</h2>
<p class="hint">${soldOut(result)} A rise is a cancelled order coming back.</p>
${stockPicture(result)}
</section>
<section class="card">
<h2>From click to row</h2>
<p class="hint">How long until an order was committed and its buyer knew. ${halfPlaced(result)}</p>
${rowPicture(result)}
</section>
<section class="card">
<h2>Latency</h2>
<p class="hint">From the moment of the click, not from when the request got its turn. A click without an answer waits on.</p>
<ul class="legend"><li class="refusals">every click</li><li class="orders">placed orders</li></ul>
${latencyPicture(result)}
</section>
<section class="card">
<h2>The funnel</h2>
<p class="hint">Who got how far. Bars are logarithmic.</p>
${funnelPicture(result)}
</section>
</div>
<div class="pair">
<section class="card">
<h2>Promises</h2>
<p class="hint">Checked against what buyers were told, the audit, the orders and the payments.</p>
${promises(result)}
</section>
<section class="card">
<h2>What was said</h2>
<p class="hint">Every answer to a click, by what it said.</p>
${answers(result)}
</section>
</div>
<section class="card wide">
<h2>How it was made</h2>
${madeWith(result)}
</section>
</main>
</body>
</html>
`
}

function reasons({ reasons: all }: Rehearsal): string {
  if (all.length === 0) return ''
  return `<ul class="reasons">${all.map(reason => `<li>${quote(reason)}</li>`).join('')}</ul>`
}

function faultLine({ fault }: Rehearsal): string {
  if (fault === null) return ''
  return `<p class="fault-line" data-figure="fault">${quote(capital(describeFault(fault)))}.</p>`
}

/** By the ledger's own clock. */
function soldOut({ stock, books }: Rehearsal): string {
  if (books === null) return 'What was sold is not known.'
  const atMs = stock.find(([, left]) => left === 0)?.[0]
  return atMs === undefined ? 'Never sold out.' : `Sold out ${showMs(Math.max(0, atMs))} after the opening.`
}

function halfPlaced({ clickToRow: { count, p50 } }: Rehearsal): string {
  return count === 0 ? 'Nobody was told of one.' : `Half of them within ${showMs(p50)}.`
}

function figures(result: Rehearsal): string {
  const { books, buyers, latency } = result
  const ms = (of: number, value: number) => (of === 0 ? 'unknown' : showMs(value))
  const cards: [name: string, key: string, value: string, note: string][] = [
    ['sold', 'sold', books === null ? 'unknown' : whole(books.sold), `of ${whole(result.settings.units)} units`],
    ['order rows', 'liveOrderRows', books === null ? 'unknown' : whole(books.liveOrderRows), rowsNote(books)],
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

function promises(result: Rehearsal): string {
  const rows = result.promises.map(({ name, broken, notJudged }) => {
    const state = broken > 0 ? 'broken' : notJudged === null ? 'kept' : 'unknown'
    const word =
      broken > 0
        ? `broken ${broken === 1 ? 'once' : `${whole(broken)} times`}`
        : notJudged === null
          ? 'kept'
          : `not judged: ${notJudged}`
    return `<tr class="${state}"><th scope="row">${name}</th><td>${quote(word)}</td></tr>`
  })
  return `<table>${rows.join('')}</table>`
}

function answers(result: Rehearsal): string {
  const all = [...Object.entries(result.answers), ...Object.entries(result.unexpected)]
  const rows = all.map(
    ([name, count]) =>
      `<tr><th scope="row">${quote(SAID[name] ?? name.replaceAll('_', ' '))}</th><td>${whole(count)}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
