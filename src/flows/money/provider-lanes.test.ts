import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { ProviderLanes } from './provider-lanes.ts'

/** Endless questions to two shops that never answer. As in `claim_payments.sql`, the lane `others` takes what no lane named beside it takes. */
function createSilent() {
  let last = 0
  const open = new Map<string, number>()
  const questionTo = (shop: string) => ({ id: String(++last), shop })
  const lanes = new ProviderLanes({
    clock: { ...systemClock, elapsed: () => systemClock.elapsed() * 50, sleep: () => systemClock.sleep(5) },
    lanes: ['left', 'right', 'others'],
    async take(rooms) {
      const named = rooms.map(({ lane }) => lane)
      const rest = ['left', 'right'].filter(shop => !named.includes(shop))
      return rooms.flatMap(({ lane, room }) =>
        (lane === 'others' ? rest : [lane]).flatMap(shop => Array.from({ length: room }, () => questionTo(shop))),
      )
    },
    laneOf: ({ shop }) => shop,
    ask({ shop }) {
      open.set(shop, (open.get(shop) ?? 0) + 1)
      return new Promise<never>(() => {})
    },
  })
  return { lanes, open }
}

test('a lane that is full is still named: no other lane asks its questions, and its bound holds', async () => {
  const { lanes, open } = createSilent()
  for (let i = 0; i < 4; i++) expect(await lanes.round()).toBe(true)
  for (let i = 0; i < 4; i++) expect(await lanes.round(), 'nothing more can be begun').toBe(false)
  expect([...open]).toEqual([
    ['left', 256],
    ['right', 256],
  ])
})
