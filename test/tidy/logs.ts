/** The log: one event, one line. That an event is in the list, and has its level there, the types check. */

import { at, type Rule, tree } from './rule.ts'
import { sourceOf } from './source.ts'
import { type File, isShipped } from './tree.ts'

const LIST = 'src/base/log-events.ts'
/** Its lines have the event of the texts that it is made with. */
const OUTAGES = 'src/base/outage-log.ts'
/** The logs that calls are made on: `log.warn(`, `this.#log.error(`. */
const CALL = /\blog\.(?:debug|info|warn|error)\(/g
/** What stands first in a call: an object that begins with the event or spreads one that has it, or the name of such an object. */
const WITH_EVENT = /^\s*(?:\{\s*event\b|\w+,)/

export const logCallsHaveEvents: Rule = {
  name: 'every log call begins with its event',
  remedy: `Write log.info({ event: '…', … }, 'message') with an event of ${LIST}; run "npm run reference".`,
  check(files) {
    const found: string[] = []
    for (const file of files.filter(one => isShipped(one) && one.path !== OUTAGES)) {
      for (const match of sourceOf(file).code.matchAll(CALL)) {
        const rest = file.text.slice(match.index + match[0].length)
        if (!WITH_EVENT.test(rest)) found.push(`${at(file, match.index)}: a log call without an event`)
      }
    }
    return found
  },
  breaks: [tree('src/edge/x.ts', "log.warn({ item }, 'gone')"), tree('src/edge/x.ts', "this.#log.info({}, 'gone')")],
  keeps: [
    tree(
      'src/edge/x.ts',
      "log.warn({ event: 'gone', item }, 'gone')\nlog.error({ event, err }, message)\nlog.info(fields, 'gone')",
    ),
    tree('src/edge/x.ts', "log.warn(\n  {\n    event: 'gone',\n  },\n  'gone')\n// log.warn({}, 'gone')"),
  ],
}

export const logEventsAreTold: Rule = {
  name: 'every event of the list is told, at one place',
  remedy: `Remove the event from ${LIST}, or give the other line an event of its own: rules of a log store are built on the names.`,
  check(files) {
    const list = files.find(file => file.path === LIST)
    if (list === undefined) return []
    const sources = files.filter(file => isShipped(file) && file.path !== LIST)
    return eventsOf(list).flatMap(event => {
      const told = new RegExp(`event: '${event}'|\\bfailed\\([^)]*'${event}'`)
      const paths = sources.filter(file => told.test(file.text)).map(({ path }) => path)
      if (paths.length === 1) return []
      return [`${LIST}: ${event} is told ${paths.length === 0 ? 'nowhere' : `in ${paths.join(', ')}`}`]
    })
  },
  breaks: [
    tree(LIST, "export const LOG_EVENTS = {\n  info: {\n    gone: 'It is gone.',\n  },\n} as const"),
    tree(
      LIST,
      "export const LOG_EVENTS = {\n  info: {\n    gone: 'It is gone.',\n  },\n} as const",
      'src/a.ts',
      "log.info({ event: 'gone' }, 'gone')",
      'src/b.ts',
      "log.info({ event: 'gone' }, 'gone')",
    ),
  ],
  keeps: [
    tree(
      LIST,
      "export const LOG_EVENTS = {\n  info: {\n    gone: 'It is gone.',\n  },\n} as const",
      'src/a.ts',
      "log.info({ event: 'gone' }, 'gone')",
    ),
  ],
}

/** A key of the list, with its sentence on the same line or the next. */
function eventsOf(list: File): readonly string[] {
  return [...list.text.matchAll(/^ +([a-z_]+):\s+['"]/gm)].map(([, event = '']) => event)
}
