/**
 * The suite every gate passes, unchanged: `gateContract('memory gate', make)` in the adapter's own test file.
 * It assumes nothing but the contract: calls may take time and come from several sides, the clock may be a real one, the gate may
 * live in another process and keep what earlier runs left there. So every case has items of its own, and every window is told
 * relative to the gate's own clock.
 */

import { afterAll, beforeAll, describe } from 'bun:test'
import { epochCases } from './contract/epoch-cases.ts'
import { type Bench, type GateUnderTest, ItemNames } from './contract/item-on-sale.ts'
import { lostReplyCases } from './contract/lost-reply-cases.ts'
import { releaseCases } from './contract/release-cases.ts'
import { reserveCases } from './contract/reserve-cases.ts'
import { stockChangeCases } from './contract/stock-change-cases.ts'
import { windowCases } from './contract/window-cases.ts'

export function gateContract(name: string, make: () => Promise<GateUnderTest>): void {
  describe(`gate contract: ${name}`, () => {
    let made: GateUnderTest | undefined
    beforeAll(async () => {
      made = await make()
    })
    afterAll(async () => {
      await made?.close()
    })
    const names = new ItemNames()
    const bench: Bench = {
      names,
      gate: () => made!.gate,
      untilClock: nowMs => made!.untilClock(nowMs),
      together: (item, buyers) => made!.together?.(item, buyers) ?? buyers,
    }

    describe('reserve', () => reserveCases(bench))
    describe('release', () => releaseCases(bench))
    describe('window', () => windowCases(bench))
    describe('stock changes', () => stockChangeCases(bench))
    describe('epochs', () => epochCases(bench))
    describe('lost replies', () => lostReplyCases(bench))
  })
}
