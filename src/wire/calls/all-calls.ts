/** Every call there is, in the order in which people read about them. */

import type { Call } from '../call.ts'
import { BUYER_CALLS } from './buyer-calls.ts'
import { DEMO_CALLS } from './demo-calls.ts'
import { OPS_CALLS } from './monitor-calls.ts'
import { OPERATIONS_CALLS } from './operations-calls.ts'
import { OPERATOR_CALLS } from './operator-calls.ts'

export const ALL_CALLS: readonly Call[] = [
  ...BUYER_CALLS,
  ...DEMO_CALLS,
  ...OPERATOR_CALLS,
  ...OPS_CALLS,
  ...OPERATIONS_CALLS,
]
