/** `docs/reference/logs.md`, made from the list of events. */

import { LOG_EVENTS, OUTAGE_EVENTS } from '../../src/base/log-events.ts'

const LEVELS = [
  ['error', 'A person must look. Each of them deserves an alert.'],
  ['warn', 'Something outside failed, or an operator should know. It mends itself, or is repeated.'],
  ['info', 'What a process does in its life.'],
  ['debug', 'For the search for a defect; not shown unless `LOG_LEVEL` asks for it.'],
] as const

export function renderLogsReference(): string {
  return [
    '# Log events',
    '',
    'Made from `src/base/log-events.ts` by `npm run reference`; a test compares the two.',
    '',
    'A log line is one JSON object: `level`, `time`, `event`, what it happened to (ids as fields), and `msg` for a person. `event` is stable, and the',
    'words of `msg` are not: build rules on `event`. Errors stand in `err`, with `code` beside it where they have one.',
    '',
    'Personal in a line are buyer ids (`buyer`) and the addresses of those who try operator tokens (`address`), nothing else. `LOG_BUYERS=hashed`',
    'makes keyed hashes of both. No line holds a token, a ticket, a secret, an address with its query, or a header.',
    '',
    ...LEVELS.flatMap(([level, means]) => [`## ${level}`, '', means, '', ...tableOf(LOG_EVENTS[level])]),
    '## What fails again and again',
    '',
    'One line when it begins (`"phase":"begins"`, as `error` if it is a defect, else as `warn`), one every half minute while it lasts',
    '(`"phase":"lasts"`), and one when it is over (`"phase":"ends"`); the last two count `failed` and `forMs`.',
    '',
    ...tableOf(OUTAGE_EVENTS),
  ].join('\n')
}

function tableOf(events: Readonly<Record<string, string>>): readonly string[] {
  const rows = Object.entries(events).sort(([a], [b]) => (a < b ? -1 : 1))
  return ['| event | means |', '|---|---|', ...rows.map(([event, means]) => `| \`${event}\` | ${means} |`), '']
}
