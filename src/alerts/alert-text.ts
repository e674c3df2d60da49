/**
 * An alert as text for people: a subject of one line, and a body that says for each trouble what it is, where, since when and what to do. Bounded,
 * whatever the troubles hold; what comes from outside (names, findings) never makes a new line.
 */

import { toRfc3339 } from '../base/clock.ts'
import type { TroubleCode } from '../wire/monitor-codes.ts'
import type { AlertMessage, AlertPart } from './channel.ts'
import { TROUBLE_TEXTS } from './trouble-texts.ts'

const PARTS_MAX = 20
const WORDS_LENGTH_MAX = 300
const MINUTE_MS = 60_000

interface AlertText {
  readonly subject: string
  readonly body: string
}

export function alertText({ isTest, source, page, parts }: AlertMessage): AlertText {
  const from = source === 'stampede' ? 'Stampede' : `Stampede at ${source}`
  if (isTest)
    return {
      subject: '[Stampede] Test: alerts arrive',
      body: `${from}: this is a test, sent by hand. Alerts of troubles that begin and end arrive here.${link(page)}`,
    }
  const shown = parts.slice(0, PARTS_MAX).map(textOfPart)
  const more = parts.length - shown.length
  return {
    subject: `[Stampede] ${subjectOf(parts)}`,
    body: [
      `${from}: ${countsOf(parts)}.`,
      ...shown,
      ...(more > 0 ? [`… and ${more} more: see the operations page.`] : []),
    ]
      .join('\n\n')
      .concat(link(page)),
  }
}

/** What a trouble is called: its title, and which one it is. */
export function titleOf({ code, which, count }: AlertPart): string {
  const title = TROUBLE_TEXTS[code as TroubleCode]?.title ?? `Trouble ${line(code)}`
  const details = [which === undefined ? [] : [line(which)], count === undefined ? [] : [`${count}`]].flat()
  return details.length === 0 ? title : `${title} (${details.join(', ')})`
}

export function todoOf({ code }: AlertPart): string | undefined {
  return TROUBLE_TEXTS[code as TroubleCode]?.todo
}

function textOfPart(part: AlertPart): string {
  const { kind, sale, saleName, itemName, words, process, sinceMs, untilMs, times } = part
  const where = [saleName ?? (sale && `sale ${sale}`), itemName].filter(name => name !== undefined).map(line)
  const head = `${kind === 'began' ? 'BEGAN' : 'OVER'}: ${[titleOf(part), ...where].join(' · ')}`
  if (kind === 'ended')
    return `${head}\nLasted ${span((untilMs ?? sinceMs) - sinceMs)}, until ${at(untilMs ?? sinceMs)}.`
  const again = times > 1 ? ` It has begun ${times} times since it was last told.` : ''
  const by = process === undefined ? '' : `, seen by ${line(process)}`
  return [
    head,
    ...(words === undefined ? [] : [line(words)]),
    `Since ${at(sinceMs)}${by}.${again}`,
    `What to do: ${todoOf(part) ?? 'see docs/operating.md.'}`,
  ].join('\n')
}

function subjectOf(parts: readonly AlertPart[]): string {
  const [only, ...others] = parts
  if (only === undefined || others.length > 0) return countsOf(parts)
  return only.kind === 'began' ? titleOf(only) : `Over: ${titleOf(only)}`
}

function countsOf(parts: readonly AlertPart[]): string {
  const began = parts.filter(({ kind }) => kind === 'began').length
  const ended = parts.length - began
  const said = [
    ...(began > 0 ? [`${began} ${began === 1 ? 'trouble' : 'troubles'} began`] : []),
    ...(ended > 0 ? [`${ended} ${ended === 1 ? 'is' : 'are'} over`] : []),
  ]
  return said.join(', ')
}

/** In one line, without control characters, and not too long. */
function line(text: string): string {
  const plain = text.replace(/[\s\p{C}]+/gu, ' ').trim()
  return plain.length > WORDS_LENGTH_MAX ? `${plain.slice(0, WORDS_LENGTH_MAX)}…` : plain
}

const at = (ms: number) => `${toRfc3339(ms).slice(0, 19).replace('T', ' ')} UTC`

function span(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(1, Math.round(ms / 1000))} s`
  const minutes = Math.round(ms / MINUTE_MS)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

const link = (page: string | undefined) => (page === undefined ? '' : `\n\n${page}`)
