/** `docs/reference/configuration.md`, made from the settings themselves. A test compares the two, so the page can't fall behind. */

import { z } from 'zod'
import { NOT_BUILT, settings } from './settings.ts'

interface Described {
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly string[]
}

export function renderConfigurationReference(): string {
  const { properties = {} } = z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' })
  const rows = Object.entries(properties as Record<string, Described>)
    .filter(([name]) => name !== 'FAULT_POINTS')
    .map(([name, one]) => `| \`${name}\` | ${byDefault(one)} | ${(one.description ?? '').replaceAll('|', '\\|')} |`)
  return [
    '# Configuration',
    '',
    'Made from `src/app/settings.ts` by `npm run reference`; a test compares the two.',
    '',
    'All settings come from the environment. An empty value is an unset one. A bad value, or a combination that can not work, stops the start',
    'with one line that names it. `stampede config` prints what is in force, secrets hidden.',
    '',
    '| setting | default | what it does |',
    '|---|---|---|',
    ...rows,
    '',
    `Parts that are not built yet: setting one of these stops the start. ${Object.keys(NOT_BUILT)
      .map(name => `\`${name}\``)
      .join(' ')}`,
    '',
  ].join('\n')
}

function byDefault({ default: value, enum: choices }: Described): string {
  const shown =
    value === undefined || value === '' || (Array.isArray(value) && value.length === 0) ? '' : `\`${String(value)}\``
  return choices === undefined ? shown : [shown, `of ${choices.join(', ')}`].filter(Boolean).join(' ')
}
