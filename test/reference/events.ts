/** The JSON Schema of one type of event. Members may be added to events, so a schema forbids none. */

import { z } from 'zod'
import type { EventType } from '../../src/domain/shop-event.ts'
import { schemaOf } from '../../src/wire/events/event-schemas.ts'

export function renderSchema(type: EventType): string {
  const { $schema, ...schema } = z.toJSONSchema(schemaOf(type), {
    target: 'draft-2020-12',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return `${JSON.stringify({ $schema, title: `stampede.${type}`, ...schema }, null, 2)}\n`
}
