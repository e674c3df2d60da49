/** `stampede list …`: the deny and allow list. */

import type { Command } from 'commander'
import { ACCESS_SUBJECTS } from '../../domain/access-entry.ts'
import type { TimeAnswer } from '../../wire/answers.ts'
import type { AccessAnswer, AccessListAnswer } from '../../wire/lists/list-shapes.ts'
import { parseMoment } from '../arguments.ts'
import { print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

const PATH = '/api/admin/lists'

interface AddOptions extends ServerOptions {
  readonly until?: string
  readonly reason?: string
}

export function addList(program: Command): void {
  const list = program.command('list').description('the deny and allow list of a running server')
  withServer(list.command('show').description('the entries in force, newest first')).action(show)
  for (const kind of ['deny', 'allow'] as const)
    withServer(
      list
        .command(kind)
        .description(kind === 'deny' ? 'answer with 403 denied, on every edge' : 'let pass limits and challenges')
        .argument('<subject>', ACCESS_SUBJECTS.join(', '))
        .argument('<value>', '203.0.113.7, 203.0.113.0/24, a buyer id, or a claim as name=value')
        .option('--until <time>', '2026-11-11T00:00:00Z, or +30s, +10m, +2h, +1d; without it for good')
        .option('--reason <text>', 'why, for other operators'),
    ).action((subject: string, value: string, options: AddOptions) => add({ kind, subject, value }, options))
  withServer(list.command('remove').description('take an entry off the list').argument('<id>')).action(
    async (id: string, options: ServerOptions) => {
      await new Client(options).ask(`${PATH}/${encodeURIComponent(id)}`, { method: 'DELETE' })
      await print(`entry ${id} is off the list`)
    },
  )
}

async function show(options: ServerOptions): Promise<void> {
  const { lists } = await new Client(options).ask<AccessListAnswer>(PATH)
  if (options.json) return printJson(lists)
  await print(lists.length === 0 ? 'the list is empty' : tableOf(lists))
}

async function add(entry: object, options: AddOptions): Promise<void> {
  const client = new Client(options)
  const now = async () => (await client.ask<TimeAnswer>('/api/time')).unixMs
  const { reason } = options
  const until = options.until === undefined ? undefined : await parseMoment('--until', options.until, now)
  const body = { ...entry, ...(until !== undefined && { until }), ...(reason !== undefined && { reason }) }
  const added = await client.ask<AccessAnswer>(PATH, { method: 'POST', body })
  if (options.json) return printJson(added)
  await print(tableOf([added]))
}

function tableOf(lists: readonly AccessAnswer[]): string {
  return table(lists, [
    { title: 'id', of: ({ id }) => id },
    { title: 'kind', of: ({ kind }) => kind },
    { title: 'subject', of: ({ subject }) => subject },
    { title: 'value', of: ({ value }) => value },
    { title: 'until', of: ({ until }) => until ?? 'for good' },
    { title: 'by', of: ({ by }) => by },
    { title: 'reason', of: ({ reason }) => reason ?? '' },
  ])
}
