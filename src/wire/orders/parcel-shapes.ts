/** Contact and metadata of an order: what may be sent, and what is answered. Whether a contact fits its sale is decided by `domain/parcel.ts`. */

import { z } from 'zod'
import {
  CONTACT_LENGTH_MAX,
  METADATA_KEY_LENGTH_MAX,
  METADATA_KEYS_MAX,
  METADATA_VALUE_LENGTH_MAX,
} from '../../domain/parcel.ts'

/** What PostgreSQL can't store in JSON, and what no shop wants in a field. */
const UNSTORABLE = /[\p{Cs}\0]/u

const metadataKey = z
  .string()
  .min(1)
  .max(METADATA_KEY_LENGTH_MAX)
  .refine(key => !/[\p{Cc}\p{Cs}]/u.test(key), 'must not contain control characters')
const metadataValue = z
  .string()
  .max(METADATA_VALUE_LENGTH_MAX)
  .refine(text => !UNSTORABLE.test(text), 'must be valid text')

export const metadataInput = z
  .record(metadataKey, metadataValue)
  .refine(all => Object.keys(all).length <= METADATA_KEYS_MAX, `must have at most ${METADATA_KEYS_MAX} keys`)
  .describe('The word of the program that orders, kept for the shop: it proves nothing.')

const said = z.string().trim().max(CONTACT_LENGTH_MAX).optional()

export const contactInput = z.strictObject({
  email: said,
  phone: said,
  name: said,
  address: said.describe('May have several lines.'),
})

const shown = z.string().optional()
const metadataAnswer = z.record(z.string(), z.string())
const contactAnswer = z.object({ email: shown, phone: shown, name: shown, address: shown }).meta({ id: 'Contact' })

/** Of an order that is shown alone, or in a list for the shop. Events and messages never carry them. */
export const parcelShape = { contact: contactAnswer.optional(), metadata: metadataAnswer.optional() }
