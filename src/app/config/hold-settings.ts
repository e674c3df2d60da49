/** The settings of unpaid holds, for sales whose terms do not say otherwise. */

import { z } from 'zod'
import { UNITS_MAX } from '../../domain/item.ts'
import { setting, whole } from './setting.ts'

const unitsOrOff = z.union([z.literal('off').transform(() => undefined), whole(1, UNITS_MAX)], {
  error: `must be a whole number from 1 to ${UNITS_MAX}, or "off"`,
})
const show = (value: number | undefined) => value ?? 'off'

export const HOLD_SETTINGS = {
  HOLDS_PER_BUYER: setting({
    about:
      'Unpaid units that one buyer may hold in a sale: open orders, and for a while orders that ended unpaid. A number, or off. For sales without `holds` of their own.',
    schema: unitsOrOff,
    default: 'off',
    show,
  }),
  HOLDS_PER_PREFIX: setting({
    about:
      'The same for one /24 of IPv4 or /48 of IPv6. Off: hundreds of buyers may sit behind one address, and only the shop knows where they sit.',
    schema: unitsOrOff,
    default: 'off',
    show,
  }),
}
