import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { createArchiveItems } from './archive-items.ts'

/** An archive of items with so many orders each; one whose count is undefined is not settled. */
function stage(counts: Readonly<Record<string, number | undefined>>) {
  const left = new Map(Object.entries(counts))
  const calls: string[] = []
  const lists: string[] = []
  const lines: unknown[] = []
  let elapsedMs = 0
  let busy = false
  let fails: string | undefined
  const round = createArchiveItems({
    archive: {
      async toArchive(after, _afterMs, max) {
        lists.push(after)
        const due = [...left].filter(([id, count]) => count !== 0 && Number(id) > Number(after)).map(([id]) => id)
        return due.slice(0, max)
      },
      async move(item, after, max) {
        calls.push(`${item} ${after}`)
        if (item === fails) throw new Error('it does not move')
        const count = left.get(item)
        if (count === undefined) return undefined
        const moved = Math.min(count, max)
        left.set(item, count - moved)
        return { moved, last: moved === max ? String(Number(after) + moved) : undefined }
      },
    },
    clock: { ...systemClock, elapsed: () => elapsedMs },
    log: { debug() {}, info: (...line) => void lines.push(line[0]), warn() {}, error() {} },
    afterMs: 0,
    busy: () => busy,
  })
  return {
    round,
    calls,
    lists,
    lines,
    left,
    pass(ms: number) {
      elapsedMs += ms
    },
    setBusy(is: boolean) {
      busy = is
    },
    setFails(item: string) {
      fails = item
    },
  }
}

test('an item with many orders moves a batch a round; small ones go together, and an unsettled one is left out', async () => {
  const { round, calls, lines } = stage({ 1: 2_500, 2: undefined, 3: 10, 4: 20 })
  expect([await round(), calls.splice(0)]).toEqual([true, ['1 0']])
  expect([await round(), calls.splice(0)]).toEqual([true, ['1 1000']])
  expect([await round(), calls.splice(0)]).toEqual([false, ['1 2000', '2 0', '3 0', '4 0']])
  expect(lines).toEqual([
    { event: 'archived', item: '1', orders: 2_500 },
    { event: 'archived', item: '3', orders: 10 },
    { event: 'archived', item: '4', orders: 20 },
  ])
})

test('it rests while buyers wait, and reads the list again only after a while', async () => {
  const { round, calls, lists, left, pass, setBusy } = stage({ 1: 5 })
  setBusy(true)
  expect([await round(), calls]).toEqual([false, []])
  setBusy(false)
  expect([await round(), calls.splice(0)]).toEqual([false, ['1 0']])
  left.set('2', 5)
  expect([await round(), lists.length]).toEqual([false, 1])
  pass(600_001)
  expect([await round(), calls]).toEqual([false, ['2 0']])
  expect(lists).toEqual(['0', '0'])
})

test('an item that can not be moved holds up no other', async () => {
  const { round, calls, setFails } = stage({ 1: 2_500, 2: 10 })
  expect([await round(), calls.splice(0)]).toEqual([true, ['1 0']])
  setFails('1')
  await expect(round()).rejects.toThrow('it does not move')
  expect([await round(), calls]).toEqual([false, ['1 1000', '2 0']])
})
