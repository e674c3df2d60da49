import { expect, test } from 'bun:test'
import { createZoneTimes } from './zone-times.ts'

const at = (text: string) => Date.parse(text)

test('a moment is written as the clocks of the zone show it, also in the night when they change', () => {
  const berlin = createZoneTimes('Europe/Berlin')
  expect(berlin(at('2026-10-25T00:59:59.999Z'))).toBe('2026-10-25 02:59:59')
  expect(berlin(at('2026-10-25T01:00:00Z'))).toBe('2026-10-25 02:00:00')
  expect(berlin(at('2026-03-29T00:59:59Z'))).toBe('2026-03-29 01:59:59')
  expect(berlin(at('2026-03-29T01:00:00Z'))).toBe('2026-03-29 03:00:00')
  expect(createZoneTimes('Asia/Shanghai')(at('2026-11-10T16:00:03.5Z'))).toBe('2026-11-11 00:00:03')
  expect(createZoneTimes('Asia/Kathmandu')(at('2026-01-01T00:00:00Z'))).toBe('2026-01-01 05:45:00')
  expect(createZoneTimes('UTC')(0)).toBe('1970-01-01 00:00:00')
})

test('it agrees with the system for moments all over a year, in zones with every kind of distance', () => {
  for (const zone of ['America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca']) {
    const written = createZoneTimes(zone)
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    for (let ms = at('2026-01-01T00:00:00Z'); ms < at('2027-01-01T00:00:00Z'); ms += 6_543_210)
      expect(written(ms), zone).toBe(format.format(ms))
  }
})
