/**
 * Waiting lines in the ledger: a row per join, written before it is answered, and one mark per line up to which all are let in. Whichever process is asked, and whatever
 * dies, the rows say who is in line, with which number.
 */

import type { BuyerId, SaleId } from '../domain/ids.ts'
import type { LineRate } from '../domain/line.ts'

/** How far a line is. */
export interface LineStatus {
  readonly sale: SaleId
  /** Secret: each join's salt is made from it. */
  readonly saltKey: Uint8Array
  /** Of the chain, after the last join. */
  readonly head: Uint8Array
  /** The highest number. */
  readonly numbers: number
  /** How many joins count no more. */
  readonly leaves: number
  /** All positions up to this one are let in. */
  readonly letIn: number
  /** The operator's; undefined: the sale's own. */
  readonly rate: LineRate | undefined
  readonly paused: boolean
}

/** A line under its lock, and which of the asked buyers are in it. */
export interface LockedLine extends Pick<LineStatus, 'saltKey' | 'head' | 'numbers' | 'leaves'> {
  readonly joined: ReadonlyMap<BuyerId, number>
}

export interface NumberedJoin {
  readonly number: number
  readonly buyer: BuyerId
  readonly proof: Uint8Array
  /** Set: it counts no more. */
  readonly leftNo: number | undefined
}

/** The n-th end of a join. */
export interface JoinEnd {
  readonly number: number
  readonly leftNo: number
}

export interface LineStep {
  readonly letIn: number
  readonly atMs: number
}

export interface LineWrite extends Pick<LineStatus, 'head' | 'numbers' | 'leaves'> {
  readonly joins: readonly NumberedJoin[]
  readonly ends: readonly JoinEnd[]
}

export interface Lines {
  /** Makes the line unless it is there; then the given secret and head are not used. */
  open(sale: SaleId, saltKey: Uint8Array, head: Uint8Array): Promise<void>
  /** Of lines that are there. */
  statuses(sales: readonly SaleId[]): Promise<readonly LineStatus[]>
  /** `decide` gets the line under its lock, held until the write is committed. Undefined: there is no such line. */
  write<R>(
    sale: SaleId,
    buyers: readonly BuyerId[],
    decide: (line: LockedLine) => { readonly write: LineWrite | undefined; readonly result: R },
  ): Promise<R | undefined>
  /** The numbers of those who are in line. */
  numbersOf(sale: SaleId, buyers: readonly BuyerId[]): Promise<ReadonlyMap<BuyerId, number>>
  joinsAfter(sale: SaleId, number: number, max: number): Promise<readonly NumberedJoin[]>
  leavesAfter(sale: SaleId, leftNo: number, max: number): Promise<readonly JoinEnd[]>
  stepsAfter(sale: SaleId, letIn: number): Promise<readonly LineStep[]>
  /** Compare-and-set. The moment, or undefined: the mark is not at `from` any more. */
  letIn(sale: SaleId, from: number, to: number, stepsKeptMs: number): Promise<number | undefined>
  /** False: there is no such line. */
  steer(
    sale: SaleId,
    change: { readonly rate?: LineRate; readonly paused?: boolean },
    by: string,
    action: string,
  ): Promise<boolean>
}
