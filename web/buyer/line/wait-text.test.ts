import { expect, test } from 'bun:test'
import { lineStep } from './line-step.ts'
import { lineWords } from './line-words.ts'
import { clockTime, spokenTime, waitText } from './wait-text.ts'

const en = lineWords('en')
const waits = (fromSeconds: number, toSeconds: number, sinceMs = 0) => waitText(en, { fromSeconds, toSeconds }, sinceMs)

test('an estimate is a range, is not more exact than minutes, and gets shorter until it is read again', () => {
  expect(waitText(en, null, 0)).toBe('How long it takes is not known yet')
  expect(waits(130, 290)).toBe('2 to 5 minutes')
  expect(waits(130, 290, 60_000)).toBe('1 to 4 minutes')
  expect(waits(20, 150)).toBe('Up to 3 minutes')
  expect(waits(10, 40)).toBe('About a minute')
  expect(waits(120, 120)).toBe('About 2 minutes')
  expect(waits(130, 290, 3_600_000)).toBe('About a minute')
  expect(waitText(lineWords('zh-CN'), { fromSeconds: 130, toSeconds: 290 }, 0)).toBe('约 2 至 5 分钟')
})

test('times are shown and read out in whole seconds, the one under way counted', () => {
  expect(clockTime(119_001)).toBe('2:00')
  expect(clockTime(3_600_000)).toBe('1:00:00')
  expect(clockTime(-5)).toBe('0:00')
  expect(spokenTime(125_000, 'en')).toBe('2 minutes 5 seconds')
  expect(spokenTime(0, 'en')).toBe('0 seconds')
})

test('a turn ends at its very millisecond, whatever was heard last', () => {
  const opensAt = '2030-01-01T12:00:00.000Z'
  const at = Date.parse(opensAt)
  const own = { state: 'admitted', claimBy: '2030-01-01T12:02:00.000Z' } as const
  expect(lineStep(opensAt, own, at - 1)).toBe('line_before')
  expect(lineStep(opensAt, own, at + 119_999)).toBe('let_in')
  expect(lineStep(opensAt, own, at + 120_000)).toBe('missed')
  expect(lineStep(opensAt, 'none', at)).toBe('join')
  expect(lineStep(opensAt, undefined, at)).toBe('loading')
  expect(lineStep(opensAt, { state: 'waiting' }, at)).toBe('in_line')
  expect(lineStep(opensAt, { state: 'done' }, at)).toBe('loading')
})
