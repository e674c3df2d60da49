import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

/** Speed does not count, nor does any ratio. */
test.each([
  [['growth'], ['growth over old orders', 'growth over items on sale', 'growth over hot items']],
  [['disturbed'], ['placing, disturbed by reads']],
])(
  'bench %p runs in small: a table, a report, a page, no promise broken',
  (args, names) => {
    const out = mkdtempSync(join(tmpdir(), 'stampede-test-bench-'))
    try {
      const run = spawnSync(process.execPath, ['bench/main.ts', ...args, '--quick', '--json', '--out', out], {
        cwd: ROOT,
        encoding: 'utf8',
        timeout: 600_000,
      })
      expect({ status: run.status, failed: run.stderr.match(/^FAILED .*$/gm) }).toEqual({ status: 0, failed: null })
      const { surveys } = JSON.parse(run.stdout)
      expect(surveys.map((one: { name: string }) => one.name)).toEqual(names)
      for (const { figures } of surveys) for (const { group, value } of figures) expect(value, group).toBeFinite()
      const page = readdirSync(out).find(name => name.endsWith('.html')) ?? ''
      expect(readFileSync(join(out, page), 'utf8').includes('<svg')).toBe(args[0] === 'growth')
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  },
  620_000,
)
