/** `stampede dead`: reservations that could not be placed, as the ledger keeps them; and one more try for those that have no order yet. */

import type { Command } from 'commander'
import { ledgerParts, openLedger, runningAddress } from '../app/compose-ledger.ts'
import { ConfigError, readConfigForTools } from '../app/config/config.ts'
import { toRfc3339 } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { isId } from '../domain/ids.ts'
import {
  type DeadLettersContext,
  findDeadLetter,
  listDeadLetters,
  type RetryOutcome,
  retryDeadLetter,
  type ShownDeadLetter,
} from '../flows/operate/dead-letters.ts'
import { createPinoLog } from '../telemetry/pino-log.ts'
import { card, print, printJson, table } from './table.ts'

const BY = 'command line'
const LIMIT_MAX = 1_000

export function addDead(program: Command): void {
  const dead = program.command('dead').description('reservations that could not be placed (dead letters)')
  dead
    .command('list')
    .description('the newest first')
    .option('--limit <n>', 'how many', '20')
    .option('--json', 'print JSON')
    .action(({ limit, json }: { limit: string; json?: boolean }) =>
      withLetters(async context => {
        const count = Number(limit)
        if (!Number.isInteger(count) || count < 1 || count > LIMIT_MAX)
          throw new ConfigError(`--limit: must be a whole number from 1 to ${LIMIT_MAX}`)
        const letters = await listDeadLetters(context, undefined, count)
        if (json) return printJson(letters.map(shown))
        return print(letters.length === 0 ? 'there are no dead letters' : listOf(letters))
      }),
    )
  dead
    .command('show')
    .description('one of them, with what it was')
    .argument('<id>')
    .option('--json', 'print JSON')
    .action((id: string, { json }: { json?: boolean }) =>
      withLetters(async context => {
        const letter = await findDeadLetter(context, idIn(id))
        if (letter === undefined) throw new Fault('not_found', `there is no dead letter ${id}`)
        return json ? printJson(shown(letter)) : print(card(Object.entries(shown(letter))))
      }),
    )
  dead
    .command('retry')
    .description('try to place it again; only while no order was born of it')
    .argument('<id>')
    .action((id: string) =>
      withLetters(async context => print(sentenceOf(id, await retryDeadLetter(context, idIn(id), BY)))),
    )
}

function idIn(text: string): string {
  if (!isId(text)) throw new ConfigError('<id>: must be the number of a dead letter')
  return text
}

/** Placed, or the reason why not. */
function sentenceOf(id: string, outcome: RetryOutcome): string {
  switch (outcome.kind) {
    case 'placed':
      return outcome.placings
        .map(one => ('order' in one ? `${one.verdict} order ${one.order.id}` : 'the order id belongs to another buyer'))
        .join('\n')
    case 'born':
      throw new Fault(
        'order_born',
        `${outcome.orders.map(({ id, state }) => `order ${id} was born ${state} of it`).join('; ')}: nothing is done`,
      )
    case 'unknown':
      throw new Fault('not_found', `there is no dead letter ${id}`)
    case 'unreadable':
      throw new Fault('unreadable', 'no reservation can be read from it: nothing is done')
    case 'refused_again':
      throw new Fault('refused_again', `the ledger still does not take it: ${outcome.why}`)
  }
}

function listOf(letters: readonly ShownDeadLetter[]): string {
  return table(letters, [
    { title: 'id', of: one => one.id, right: true },
    { title: 'at', of: one => toRfc3339(one.atMs) },
    { title: 'item', of: one => one.item },
    { title: 'order', of: one => one.order ?? '' },
    { title: 'became', of: becameOf },
    { title: 'why', of: one => one.why.slice(0, 80) },
  ])
}

function shown({ id, atMs, item, epoch, entry, order, born, why, raw }: ShownDeadLetter) {
  return { id, at: toRfc3339(atMs), item, epoch, entry, order, became: becameOf({ born }), why, raw }
}

function becameOf({ born }: Pick<ShownDeadLetter, 'born'>): string {
  return born.length === 0 ? 'no order' : [...new Set(born.map(({ state }) => state))].join(', ')
}

async function withLetters(use: (context: DeadLettersContext) => Promise<void>): Promise<void> {
  const config = readConfigForTools()
  const databaseUrl = config.databaseUrl ?? runningAddress(config.dataDir)
  const ledger = await openLedger({ ...config, databaseUrl }, createPinoLog('warn'))
  try {
    await use(ledgerParts(config, ledger.database))
  } finally {
    await ledger.close()
  }
}
