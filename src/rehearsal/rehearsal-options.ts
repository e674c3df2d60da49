/** What a rehearsal is asked for. */

import type { FaultPlan } from './fault/mid-run-fault.ts'
import type { Mix } from './plan/mix.ts'
import type { Shape } from './plan/shape.ts'
import type { Rehearsal } from './result.ts'
import type { Place } from './stage/stage.ts'

export interface RehearsalOptions {
  readonly buyers: number
  readonly units: number
  /** Over so many places of the gate they are spread, where it has several. */
  readonly shards: number
  readonly shape: Shape
  readonly mix: Mix
  readonly seed: number
  readonly connections: number
  /** With the shop's secret buyers' tokens are signed here; without it buyers are guests. */
  readonly place: Place & { readonly buyerSecret?: string }
  readonly kind: Rehearsal['server']['kind']
  /** A part of the cluster to kill in the middle. */
  readonly fault?: FaultPlan
}
