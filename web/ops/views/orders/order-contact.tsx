/** How the buyer of an order can be reached, and what the shop's page has said beside it. Both are the words of others: shown as text. */

import { CONTACT_FIELDS } from '../../../../src/domain/parcel.ts'
import type { WholeOrder } from '../../shapes.ts'
import { contactWords } from '../../words/contact.ts'

export function OrderContact({ order: { contact, metadata } }: { readonly order: WholeOrder }) {
  const text = contactWords()
  if (contact === undefined && metadata === undefined) return null
  const said = CONTACT_FIELDS.flatMap(field =>
    contact?.[field] === undefined ? [] : [[text.fields[field], contact[field]] as const],
  )
  return (
    <section class="card" aria-labelledby="contact">
      <h2 id="contact">{text.contact}</h2>
      <Facts facts={said} />
      {metadata !== undefined && <h3>{text.metadata}</h3>}
      <Facts facts={Object.entries(metadata ?? {})} />
    </section>
  )
}

function Facts({ facts }: { readonly facts: readonly (readonly [string, string])[] }) {
  if (facts.length === 0) return null
  return (
    <dl class="facts roomy">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt dir="auto">{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
