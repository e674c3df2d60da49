/** Names of sales and items in the languages of the page, as operators give them and as buyers' clients read them. */

import { z } from 'zod'

/** @param name as a plain name is checked */
export function textsInputWith(name: z.ZodString) {
  const named = z.strictObject({ name })
  return z
    .strictObject({ en: named.optional(), zh: named.optional() })
    .refine(texts => Object.values(texts).some(text => text !== undefined), 'must have a language: en or zh')
    .describe(
      'The name in the languages of the page: `{"zh": {"name": "杯子"}}`. Where the language of the buyer is missing, `name` is shown.',
    )
}

const named = z.object({ name: z.string() })

export const textsAnswer = z
  .object({ en: named.optional(), zh: named.optional() })
  .optional()
  .describe('The name in other languages. Where the language of the buyer is missing, `name` is shown.')

/** What an item says beside its name. */
export const itemWords = {
  description: z
    .string()
    .optional()
    .describe('Plain text, line breaks kept. In the answer of one sale; lists and live messages leave it out.'),
  texts: textsAnswer,
}
