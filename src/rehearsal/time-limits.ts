/**
 * How long simulated buyers and the operator keep trying before they give up. `NORMAL`: nothing is broken on purpose. `SHARDED`: sharded
 * stock collapses into one shard near its end, which is a rebuild; the audit agrees only after it. `WITH_FAULT`: a part is killed on
 * purpose, so the limits cover a recovery: the fence, draining up to a lapsed lease, a restart.
 */

export interface TimeLimits {
  /** Clicks of one buyer who is told "later", or gets no answer. */
  readonly clicksMax: number
  /** Tries of each payment, order read and cancellation, about a second apart. */
  readonly callsMax: number
  /** From an approved payment to an order in state `paid`. */
  readonly paidMsMax: number
  /** Tries to reopen a broken connection. */
  readonly reopenTriesMax: number
  /** How long a server may answer nothing at all while buyers wait. */
  readonly silenceMsMax: number
  /** Until the outbox is empty, units have returned and the audit agrees. */
  readonly quietMsMax: number
  /** How long the operator retries a server that does not answer. */
  readonly operatorMsMax: number
  /** A proxy's 502, 503 or 504 counts as a broken connection, not as a wrong answer. */
  readonly proxyMayLose: boolean
  /** How often refused buyers come back for returned units. */
  readonly comeBackRounds: number
}

export const NORMAL: TimeLimits = {
  clicksMax: 40,
  callsMax: 10,
  paidMsMax: 15_000,
  reopenTriesMax: 8,
  silenceMsMax: 60_000,
  quietMsMax: 10_000,
  operatorMsMax: 0,
  proxyMayLose: false,
  comeBackRounds: 5,
}

export const SHARDED: TimeLimits = { ...NORMAL, quietMsMax: 60_000 }

export const WITH_FAULT: TimeLimits = {
  clicksMax: 120,
  callsMax: 90,
  paidMsMax: 120_000,
  reopenTriesMax: 90,
  silenceMsMax: 120_000,
  quietMsMax: 120_000,
  operatorMsMax: 90_000,
  proxyMayLose: true,
  comeBackRounds: 10,
}
