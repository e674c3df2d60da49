/**
 * How long buyers and the operator keep asking before they give up. A server that nobody hurts gets the patience of an ordinary evening.
 * Where a part is killed on purpose, they wait as long as a recovery may take: a fence, a drain up to a lapsed lease, a restart. Sharded
 * stock comes together in one place at its end, which is a rebuild that nobody asked for: the books agree only after it.
 */

export interface Patience {
  /** Clicks of one buyer who is told "later", or nothing. */
  readonly clicksMax: number
  /** Of each call for paying, looking and cancelling, about a second apart. */
  readonly callsMax: number
  /** Until money that was taken shows as paid. */
  readonly paidMsMax: number
  /** To open a broken connection again. */
  readonly reopenTriesMax: number
  /** Until a server that answers nothing at all, while buyers wait, is given up. */
  readonly silenceMsMax: number
  /** Until nothing is on its way any more and the books agree. */
  readonly quietMsMax: number
  /** Of the operator, with a server that does not answer. */
  readonly operatorMsMax: number
  /** A proxy that says it lost the server behind it is a broken connection, not a wrong answer. */
  readonly proxyMayLose: boolean
  /** How often those who were refused come back for units that returned. */
  readonly comeBackRounds: number
}

export const CALM: Patience = {
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

export const SPREAD: Patience = { ...CALM, quietMsMax: 60_000 }

export const HURT: Patience = {
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
