/** Troubles and how far they are told, in PostgreSQL. */

import type { AlertEntry, Alerts } from '../alerts.ts'
import type { Database } from './connection/database.ts'
import { number, optional, queries, text, time } from './rows.ts'

export function createAlerts(database: Database): Alerts {
  const { act, all, did } = queries(database)
  return {
    note: (seen, { quietMs, repeatMs, mayEnd }) =>
      act('note_troubles', [JSON.stringify(seen), quietMs, repeatMs, mayEnd]),
    open: channels => act('open_alert_channels', [channels]),
    async claim(channel, holder, { holdMs, max }) {
      const rows = await all('claim_alerts', [channel, holder, holdMs, max], row => ({
        tries: number(row, 'tries'),
        entry: {
          no: number(row, 'no'),
          kind: text(row, 'kind') as AlertEntry['kind'],
          trouble: row.trouble as AlertEntry['trouble'],
          beganAtMs: time(row, 'began_at'),
          atMs: time(row, 'at'),
          ageMs: number(row, 'age_ms'),
          times: number(row, 'times'),
        },
      }))
      const [first] = rows
      return first && { entries: rows.map(({ entry }) => entry), tries: first.tries }
    },
    settle: (channel, holder, { upTo, nextInMs, tries, problem, told }) =>
      did('settle_alerts', [channel, holder, upTo, nextInMs, tries, problem ?? '', told]),
    channels: names =>
      all('alert_channels', [names], row => ({
        channel: text(row, 'channel'),
        waiting: number(row, 'waiting'),
        failingSinceMs: optional(row, 'failing_since', time),
        problem: optional(row, 'problem', text),
        toldAtMs: optional(row, 'told_at', time),
      })),
  }
}
