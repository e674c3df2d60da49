/** Where the waiting line of a sale is shown, if it has one. */

import { loadLine } from '../later-files.ts'
import type { Sale } from '../shapes.ts'
import { LaterPart } from './later-part.tsx'

export function WaitingLine({ sale: { id, line } }: { readonly sale: Sale }) {
  return line === undefined ? null : <LaterPart class="waiting-line" load={loadLine} id={id} />
}
