/** A buyer's own order: with what the sale asks for. */

import type { z } from 'zod'
import { orderAnswer } from '../answers.ts'
import { parcelShape } from './parcel-shapes.ts'

export const ownOrderAnswer = orderAnswer.extend(parcelShape).meta({
  id: 'OwnOrder',
  description: 'Contact and metadata are shown where the sale has `contactFields`.',
})

export type OwnOrderAnswer = z.output<typeof ownOrderAnswer>
