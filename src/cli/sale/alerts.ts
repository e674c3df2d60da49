/** `stampede alerts`: where people are told of troubles, and a test, through a running server. */

import type { Command } from 'commander'
import { Fault } from '../../base/fault.ts'
import type { AlertsAnswer, AlertTestAnswer } from '../../wire/alerts/alert-shapes.ts'
import { print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

const PATH = '/api/admin/alerts'
const NONE = 'no alerts are set up: set ALERT_WEBHOOK_URL, ALERT_SLACK_URL or ALERT_EMAIL_TO (docs/operating.md)'

export function addAlerts(program: Command): void {
  const alerts = program.command('alerts').description('where people are told of troubles')
  withServer(alerts.command('show').description('the channels of a running server, and how far each was told')).action(
    show,
  )
  withServer(alerts.command('test').description('send a test to every channel')).action(test)
}

async function show(options: ServerOptions): Promise<void> {
  const { channels } = await new Client(options).ask<AlertsAnswer>(PATH)
  if (options.json) return printJson(channels)
  if (channels.length === 0) return print(NONE)
  return print(
    table(channels, [
      { title: 'channel', of: one => one.channel },
      { title: 'waiting', of: one => `${one.waiting}`, right: true },
      { title: 'last told', of: one => one.toldAt ?? 'never' },
      { title: 'failing since', of: one => one.failingSince ?? '' },
      { title: 'problem', of: one => one.problem ?? '' },
    ]),
  )
}

/** Fails when a channel was not told. */
async function test(options: ServerOptions): Promise<void> {
  const { channels } = await new Client(options).ask<AlertTestAnswer>(`${PATH}/test`, { method: 'POST', body: {} })
  if (options.json) await printJson(channels)
  else if (channels.length > 0)
    await print(
      table(channels, [
        { title: 'channel', of: one => one.channel },
        { title: 'told', of: one => (one.told ? 'yes' : 'no') },
        { title: 'took', of: one => `${one.tookMs} ms`, right: true },
        { title: 'problem', of: one => one.problem ?? '' },
      ]),
    )
  if (channels.length === 0) throw new Fault('no_alerts', NONE)
  const failed = channels.filter(({ told }) => !told)
  if (failed.length > 0)
    throw new Fault('not_told', `${failed.map(({ channel }) => channel).join(', ')}: the test did not arrive`)
}
