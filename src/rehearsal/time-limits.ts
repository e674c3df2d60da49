/**
 * How long simulated buyers and the operator keep trying before they give up. `NORMAL`: nothing is broken on purpose. `SHARDED`: sharded
 * stock collapses into one shard near its end, which is a rebuild; the audit agrees only after it. `WITH_FAULT`: a part is killed on
 * purpose, so the limits cover a recovery: the fence, draining up to a lapsed lease, a restart.
 */

export type TimeLimits = Readonly<typeof NORMAL>

export const NORMAL = {
  /** Clicks of one buyer who is told "later", or gets no answer. */
  clicksMax: 40,
  /** Tries of each payment, order read and cancellation, about a second apart. */
  callsMax: 10,
  /** From an approved payment to an order in state `paid`. */
  paidMsMax: 15_000,
  /** Tries to reopen a broken connection. */
  reopenTriesMax: 8,
  /** How long a server may answer nothing at all while buyers wait. */
  silenceMsMax: 60_000,
  /** Until the outbox is empty, units have returned and the audit agrees. */
  quietMsMax: 10_000,
  /** How long the operator retries a server that does not answer. */
  operatorMsMax: 0,
  /** A proxy's 502, 503 or 504 counts as a broken connection, not as a wrong answer. */
  proxyMayLose: false,
  /** How often refused buyers come back for returned units. */
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
