import { expect, test } from 'bun:test'
import { card, table } from './table.ts'

const AT = '2026-11-10T16:00:03.250Z'

/** In a process of its own: the zone is read once. */
function inZone(zone: string): string {
  const program = `import { card } from '${import.meta.dirname}/table.ts'; process.stdout.write(card([['placed', '${AT}']]))`
  return Bun.spawnSync([process.execPath, '-e', program], { env: { TZ: zone } }).stdout.toString()
}

test('times stand in the zone of the reader, which is said; what only looks like one stays', () => {
  expect(inZone('UTC')).toBe('placed  2026-11-10 16:00:03 UTC\n')
  expect(inZone('Asia/Shanghai')).toBe('placed  2026-11-11 00:00:03 +08:00\n')
  expect(inZone('America/St_Johns')).toBe('placed  2026-11-10 12:30:03 -03:30\n')
  expect(card([['name', `x ${AT}`]])).toBe(`name  x ${AT}\n`)
  expect(table([{ at: null }], [{ title: 'at', of: row => row.at }])).toBe('AT\n-\n')
})
