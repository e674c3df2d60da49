/**
 * Words that the project used for a thing that has a usual name. As identifiers and file names they must not come back; in prose and in
 * strings they are free, because names that are seen outside or stored (metrics, columns, Redis keys, verdicts) keep them.
 * Each word says where it is forbidden: a room that means something else by it is left out, with the reason beside it.
 */

import { at, type Rule, tree } from './rule.ts'
import { sourceOf } from './source.ts'
import { type File, isTypeScript } from './tree.ts'

interface RetiredWord {
  /** Tried on a name in lower case with its parts apart: `syncStateFar`, `STATE_FAR` and `state-far.ts` end in ` far`. */
  readonly pattern: RegExp
  readonly instead: string
  /** Folders or files whose code must not have it. */
  readonly rooms: readonly string[]
  /** Folders or files in them that may, and why. */
  readonly except?: Readonly<Record<string, string>>
  /** Names with another meaning, and which. */
  readonly allowed?: Readonly<Record<string, string>>
}

const EVERYWHERE = ['src/', 'bench/', 'cluster/', 'test/', 'web/', 'examples/'] as const
/** Where sales are made and kept: the text lines, words and looks of other rooms are something else. */
const SELLING = ['src/flows/', 'src/gate/', 'src/app/', 'src/catalog/'] as const

const RETIRED: readonly RetiredWord[] = [
  {
    pattern: /\bpieces?\b/,
    instead: 'unit',
    rooms: EVERYWHERE,
    except: { 'src/admission/': 'the pieces of a sliding window are times' },
  },
  {
    // As a verb it begins a name. A name that ends with it, or its plural, is the noun.
    pattern: /\bplaces\b|. place$|^place of$/,
    instead: 'shard, for a part of an item’s stock',
    rooms: EVERYWHERE,
    except: { 'src/wire/draw/': 'the record of a draw has places, as the API names them' },
  },
  { pattern: /(?<!so )\bfar\b(?! (future|away))/, instead: 'gate cache, or the gate in Redis', rooms: EVERYWHERE },
  {
    pattern: /\bnear\b/,
    instead: 'local view, or the gate in the process',
    rooms: EVERYWHERE,
    allowed: { nearMs: 'a span of time' },
  },
  { pattern: /\bshel(f|ves)\b/, instead: 'registry', rooms: EVERYWHERE },
  { pattern: /^on sale$|\bis followed\b/, instead: 'live item', rooms: SELLING },
  { pattern: /\blines?\b/, instead: 'queue', rooms: ['src/flows/sell/', 'src/flows/follow/'] },
  { pattern: /\bword( no)?$/, instead: 'state, state number', rooms: SELLING },
  { pattern: /\blooks?\b(?! (up|again|for))/, instead: 'gate status; verb: read', rooms: SELLING },
  { pattern: /\bbump\w*\b/, instead: 'raise the epoch', rooms: EVERYWHERE },
  {
    pattern: /\bturns?\b/,
    instead: 'semaphore, or: set the door',
    rooms: SELLING,
    allowed: { nextTurn: 'of the event loop', inTurn: 'one after the other' },
  },
  { pattern: /\bsole seller\b/, instead: 'leader lock', rooms: EVERYWHERE },
  { pattern: /\bpatience\b/, instead: 'shared timeout', rooms: SELLING },
  { pattern: /\bnews\b/, instead: 'messages', rooms: EVERYWHERE },
  { pattern: /^(say|tell)\b/, instead: 'publish', rooms: SELLING },
  { pattern: /\bplacements\b/, instead: 'placement waiters', rooms: EVERYWHERE },
  { pattern: /\bstands\b/, instead: 'existing', rooms: SELLING },
  { pattern: /\bforeign\b/, instead: 'id conflict', rooms: SELLING },
  { pattern: /\breach(es)?\b/, instead: 'gate health', rooms: SELLING },
  { pattern: /\bleft behind\b/, instead: 'orphaned entries', rooms: EVERYWHERE },
  { pattern: /\bon its way\b/, instead: 'unplaced reservations', rooms: EVERYWHERE },
  { pattern: /\bpass on\b|\btell gate\b/, instead: 'sync state', rooms: EVERYWHERE },
  { pattern: /\bdress(es|ed)?\b/, instead: 'apply headers', rooms: EVERYWHERE },
  { pattern: /\bwatchtower\b/, instead: 'monitor', rooms: EVERYWHERE },
]

/** `syncStateFar`, `SYNC_STATE_FAR` and `sync-state-far` are `sync state far`. */
function partsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[-_$.]+/g, ' ')
    .trim()
    .toLowerCase()
}

/** A column, a metric, a field of a message: named by what is outside. */
const OUTSIDE_NAME = /^[a-z0-9]+(_[a-z0-9]+)+$/

function* namesIn(file: File): Generator<{ name: string; parts: string; where: string }> {
  const base = (file.path.split('/').at(-1) ?? '').replace(/\.tsx?$/, '')
  yield { name: base, parts: partsOf(base), where: file.path }
  for (const { 0: name, index } of sourceOf(file).code.matchAll(/[A-Za-z_$][\w$]*/g))
    if (!OUTSIDE_NAME.test(name)) yield { name, parts: partsOf(name), where: at(file, index) }
  // A variable of that name holds a thing: the verb is a function.
  for (const { index } of sourceOf(file).code.matchAll(/\b(?:const|let) place\b(?! = (?:async )?\()/g))
    yield { name: 'place', parts: 'a place', where: at(file, index) }
}

export const retiredWords: Rule = {
  name: 'no retired word in an identifier or a file name',
  remedy:
    'Take the word that the finding names. If the name means something else, say so in test/tidy/words.ts: in `allowed`, or by leaving the room out.',
  check(files) {
    const found = new Map<string, string>()
    for (const file of files.filter(isTypeScript)) {
      const lies = (room: string) => file.path.startsWith(room)
      const here = RETIRED.filter(({ rooms, except = {} }) => rooms.some(lies) && !Object.keys(except).some(lies))
      if (here.length === 0) continue
      for (const { name, parts, where } of namesIn(file)) {
        const word = here.find(({ pattern, allowed }) => pattern.test(parts) && allowed?.[name] === undefined)
        if (word !== undefined && !found.has(`${file.path} ${name}`))
          found.set(`${file.path} ${name}`, `${where}: ${name}: ${word.instead}`)
      }
    }
    return [...found.values()]
  },
  breaks: [
    tree('src/gate/x.ts', 'const pieces = 1'),
    tree('src/flows/keep/x.ts', 'export function syncStateFar() {}'),
    tree('src/flows/sell/x.ts', 'interface Line {}'),
    tree('src/base/redis/x.ts', 'type RedisPlace = 1'),
    tree('src/app/compose-near.ts', ''),
    tree('src/gate/x.ts', 'const WORD_NO = 1'),
    tree('bench/x.ts', 'gate.bump()'),
    tree('src/flows/follow/x.ts', 'x.tellSale()'),
    tree('test/x.ts', 'const { places } = y'),
    tree('test/x.ts', 'const place = shards[0]'),
    tree('web/buyer/x.tsx', 'const news = 1'),
  ],
  keeps: [
    tree('src/gate/x.ts', "// a piece of a place, far and near\nconst key = 'pieces'"),
    tree('src/ledger/x.ts', 'orders.place(x)\ninterface PlaceReply {}\nrow.word_no'),
    tree('src/cli/x.ts', 'const line = words.length'),
    tree('bench/x.ts', 'const asksSoFar = 1\nconst place = (x: number) => x'),
    tree('src/admission/rate/x.ts', 'const piecesMax = 1'),
    tree('src/flows/sell/x.ts', 'await new Promise(nextTurn)'),
    tree('docs/news.ts', 'const far = 1'),
  ],
}
