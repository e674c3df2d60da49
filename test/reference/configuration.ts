/** `docs/reference/configuration.md`, made from the settings themselves. A test compares the two, so the page can't fall behind. */

import { z } from 'zod'
import { SETTINGS } from '../../src/app/config/settings.ts'

type Setting = (typeof SETTINGS)[keyof typeof SETTINGS]

export function renderConfigurationReference(): string {
  const settings = Object.entries(SETTINGS)
  const rows = settings
    .filter(([name, { built }]) => name !== 'FAULT_POINTS' && built !== false)
    .map(([name, one]) => `| \`${name}\` | ${byDefault(one)} | ${one.about.replaceAll('|', '\\|')} |`)
  const notBuilt = settings.filter(([, { built }]) => built === false).map(([name]) => `\`${name}\``)
  return [
    '# Configuration',
    '',
    'Made from `src/app/config/settings.ts` by `npm run reference`; a test compares the two.',
    '',
    'All settings come from the environment. An empty value is an unset one. A bad value, or a combination that can not work, stops the start',
    'with one line that names it. `stampede config` prints what is in force, secrets hidden.',
    '',
    '| setting | default | what it does |',
    '|---|---|---|',
    ...rows,
    '',
    `Parts that are not built yet: setting one of these stops the start. ${notBuilt.join(' ')}`,
    '',
  ].join('\n')
}

function byDefault({ default: text, schema }: Setting): string {
  const { enum: choices } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const shown = text === undefined || text === '' ? '' : `\`${text}\``
  return choices === undefined ? shown : [shown, `of ${choices.join(', ')}`].filter(Boolean).join(' ')
}
