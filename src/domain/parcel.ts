/**
 * What a parcel needs beside its order: how the buyer can be reached, in the fields that the sale asks for, and metadata, which is the word of
 * the buyer's program and is only kept. Neither is part of the order: gates, reservations, events and messages know nothing of it.
 */

export const CONTACT_FIELDS = ['email', 'phone', 'name', 'address'] as const
export type ContactField = (typeof CONTACT_FIELDS)[number]
export type Contact = { readonly [Field in ContactField]?: string | undefined }

/** Keys to texts. */
type Metadata = Readonly<Record<string, string>>

export const METADATA_KEYS_MAX = 20
export const METADATA_KEY_LENGTH_MAX = 40
export const METADATA_VALUE_LENGTH_MAX = 500
export const CONTACT_LENGTH_MAX = 500
export const EMAIL_LENGTH_MAX = 254
const NAME_LENGTH_MAX = 200
const PHONE_DIGITS = { min: 5, max: 20 }

export interface Parcel {
  readonly metadata: Metadata | undefined
  readonly contact: Contact | undefined
}

interface ContactFault {
  readonly field: ContactField
  readonly why: string
}

const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@.,:;()<>[\\\]"]+(\.[^\s@.,:;()<>[\\\]"]+)+$/
const PHONE = /^[-+0-9 ()./]*$/
/** An address has lines; nothing else has. */
const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u
const CONTROL_BUT_LINES = /[^\P{Cc}\n]|[\p{Cs}\u2028\u2029]/u

const FAULTS: Readonly<Record<ContactField, (text: string) => string | undefined>> = {
  email: text =>
    text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text) ? undefined : 'must be an address like ann@example.com',
  phone(text) {
    const digits = text.replace(/[^0-9]/g, '').length
    const fits = PHONE.test(text) && text.length <= 40 && digits >= PHONE_DIGITS.min && digits <= PHONE_DIGITS.max
    return fits ? undefined : `must be a number of ${PHONE_DIGITS.min} to ${PHONE_DIGITS.max} digits like +49 30 901820`
  },
  name: text =>
    text.length <= NAME_LENGTH_MAX && !CONTROL.test(text)
      ? undefined
      : `must be one line of at most ${NAME_LENGTH_MAX} characters`,
  address: text =>
    text.length <= CONTACT_LENGTH_MAX && !CONTROL_BUT_LINES.test(text)
      ? undefined
      : `must have at most ${CONTACT_LENGTH_MAX} characters, and no control characters but line breaks`,
}

/** The first field that a sale asking for `asked` can't take; undefined: all fit. */
export function contactFault(contact: Contact, asked: readonly ContactField[]): ContactFault | undefined {
  for (const field of CONTACT_FIELDS) {
    const text = contact[field]
    if (text === undefined) continue
    if (!asked.includes(field)) return { field, why: 'is not asked for in this sale' }
    const why = text === '' ? 'must not be empty' : FAULTS[field](text)
    if (why !== undefined) return { field, why }
  }
  return undefined
}

/** What still has to be said before the order is paid. */
export function missingOf(contact: Contact | undefined, asked: readonly ContactField[]): readonly ContactField[] {
  return asked.filter(field => contact?.[field] === undefined)
}
