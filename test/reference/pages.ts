/** The pages of `docs/reference/`, the schemas of `docs/events/` and the client's types, that are made from the code. */

import { EVENT_TYPES } from '../../src/wire/events/event-schemas.ts'
import { renderClientTypes } from './client-types.ts'
import { renderConfigurationReference } from './configuration.ts'
import { renderErrorsReference } from './errors.ts'
import { renderSchema } from './events.ts'
import { renderLogsReference } from './logs.ts'
import { renderMetricsReference } from './metrics.ts'

/** A JSON Schema for each type of event. */
const SCHEMAS = EVENT_TYPES.map(type => [`docs/events/${type}.json`, () => renderSchema(type)] as const)

export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/configuration.md': renderConfigurationReference,
  'docs/reference/errors.md': renderErrorsReference,
  'docs/reference/logs.md': renderLogsReference,
  'docs/reference/metrics.md': renderMetricsReference,
  'client/src/wire.ts': renderClientTypes,
  ...Object.fromEntries(SCHEMAS),
}
