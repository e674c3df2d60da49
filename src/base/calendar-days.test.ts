import { expect, test } from 'bun:test'
import { dayAfter, dayBegins, dayOf, daysBetween, isDay, isTimeZone } from './calendar-days.ts'

const begins = (day: string, zone: string) => new Date(dayBegins(day, zone)).toISOString()

test('a day begins at its own midnight, wherever that is, also when the clocks change', () => {
  expect(begins('2026-11-18', 'UTC')).toBe('2026-11-18T00:00:00.000Z')
  expect(begins('2026-11-18', 'Asia/Shanghai')).toBe('2026-11-17T16:00:00.000Z')
  expect(begins('2026-11-18', 'Pacific/Kiritimati')).toBe('2026-11-17T10:00:00.000Z')
  expect(begins('2026-11-18', 'Pacific/Niue')).toBe('2026-11-18T11:00:00.000Z')
  const hours = (day: string) =>
    (dayBegins(dayAfter(day, 1), 'Europe/Berlin') - dayBegins(day, 'Europe/Berlin')) / 3_600_000
  expect(['2026-03-28', '2026-03-29', '2026-10-25'].map(hours)).toEqual([24, 23, 25])
  // This day had no midnight: the clocks went from 23:59 to 01:00.
  expect(begins('2018-11-04', 'America/Sao_Paulo')).toBe('2018-11-04T03:00:00.000Z')
})

test('the day of a moment is the one that has begun', () => {
  for (const zone of ['UTC', 'Asia/Kathmandu', 'America/New_York']) {
    const at = dayBegins('2026-07-01', zone)
    expect([dayOf(at, zone), dayOf(at - 1, zone)]).toEqual(['2026-07-01', '2026-06-30'])
  }
})

test('days are counted, and what is none is known', () => {
  expect(daysBetween('2026-02-27', '2026-03-01')).toBe(3)
  expect(daysBetween('2026-03-02', '2026-03-01')).toBe(0)
  expect(['2026-02-28', '2026-02-29', '2026-2-1', 'today', '', '2026-13-01'].map(isDay)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ])
  expect(['UTC', 'Asia/Shanghai', 'Mars/Base', '', "'; DROP"].map(isTimeZone)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
