/**
 * The code checks itself, so no reviewer has to. Each rule runs over the project, and before that over small made-up trees that
 * break it or only look as if they did: a rule that can't fail is no rule.
 */

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { resolve } from 'node:path'
import { SLOW_FILES } from './slow-files.ts'
import * as effects from './tidy/effects.ts'
import { EXPORTS_EXCUSED } from './tidy/excuses.ts'
import * as figures from './tidy/figures.ts'
import * as logs from './tidy/logs.ts'
import * as packages from './tidy/packages.ts'
import * as paths from './tidy/paths.ts'
import * as rooms from './tidy/rooms.ts'
import type { Rule } from './tidy/rule.ts'
import * as scripts from './tidy/scripts.ts'
import { sourceOf } from './tidy/source.ts'
import * as texts from './tidy/texts.ts'
import { readTree } from './tidy/tree.ts'
import * as words from './tidy/words.ts'

// A busy machine needs longer than the five seconds a test has by default.
setDefaultTimeout(300_000)

const rules: Rule[] = [rooms, effects, scripts, texts, figures, logs, packages, paths, words].flatMap(group =>
  Object.values(group),
)
const files = readTree(resolve(import.meta.dirname, '..'))

describe('the rule can fail and can pass:', () => {
  for (const rule of rules) {
    test(rule.name, () => {
      const unseen = rule.breaks.filter(sample => rule.check(sample).length === 0)
      const wronged = rule.keeps.flatMap(sample => rule.check(sample))
      expect(rule.breaks.length, 'a rule shows at least one tree that breaks it').toBeGreaterThan(0)
      expect({ unseen, wronged }).toEqual({ unseen: [], wronged: [] })
    })
  }
})

describe('the project keeps it:', () => {
  test('the tree was read', () => {
    const paths = files.map(file => file.path)
    expect(paths).toContain('package.json')
    expect(paths).toContain('src/base/clock.ts')
    expect(paths).toContain('.ci/run')
  })

  test('every slow file that is begun first is there', () => {
    const paths = new Set(files.map(file => file.path))
    expect(SLOW_FILES.filter(path => !paths.has(path))).toEqual([])
  })

  test('every excuse has something to excuse', () => {
    const exported = new Set(files.flatMap(file => sourceOf(file).exports.map(({ name }) => `${file.path}#${name}`)))
    expect(Object.keys(EXPORTS_EXCUSED).filter(excused => !exported.has(excused))).toEqual([])
  })

  for (const rule of rules) {
    test(rule.name, () => {
      const found = rule.check(files)
      if (found.length > 0) throw new Error(`${found.join('\n')}\n\nWhat to do: ${rule.remedy}`)
    })
  }
})

describe('the scanner that the rules stand on', () => {
  const code = (text: string) => sourceOf({ path: 'src/base/x.ts', text }).code
  const seen = (text: string) => code(text).replace(/ +/g, ' ').trim()

  test('blanks comments, strings and regular expressions, and keeps every position', () => {
    const text = "a // b 'c\n/* d\n*/ e('f // g', /h['/]\"/.test(i) / j / k)"
    expect(code(text)).toHaveLength(text.length)
    expect(
      seen(text)
        .split('\n')
        .map(line => line.trim()),
    ).toEqual(['a', '', "e(' ', .test(i) / j / k)"])
  })

  test('sees code inside template literals, also nested ones', () => {
    expect(seen('x`a ${b + `c ${d} e`} f` + g')).toBe('x` ${b + ` ${d} `} ` + g')
    expect(seen('`${{ a: 1 }.a} b` + c')).toBe('`${{ a: 1 }.a} ` + c')
    expect(seen('`\\`a ${b}` + c')).toBe('` ${b}` + c')
  })

  test('reads imports over several lines, renamed, re-exported, dynamic and by side effect', () => {
    const text = [
      "import a, { b, type c as d } from './one.ts'",
      "import {\n  e,\n  f,\n} from './two.ts'",
      "import * as g from './three.ts'",
      "export { h as i } from './four.ts'",
      "import './five.ts'",
      "const j = await import('./six.ts')",
      "import type { K } from './seven.ts'",
    ].join('\n')
    const imports = sourceOf({ path: 'src/base/x.ts', text }).imports
    const names = Object.fromEntries(imports.map(one => [one.target, one.names]))
    expect(names).toEqual({
      'src/base/one.ts': ['b', 'c', 'default'],
      'src/base/two.ts': ['e', 'f'],
      'src/base/three.ts': undefined,
      'src/base/four.ts': ['h'],
      'src/base/five.ts': [],
      'src/base/six.ts': undefined,
      'src/base/seven.ts': ['K'],
    })
  })

  test('finds an unfinished string or comment without running on for ever', () => {
    for (const text of ["'", '"a', '`a ${', '/* a', '/', '/a[', "'\\"])
      expect(code(text).length).toBeLessThanOrEqual(text.length)
  })
})
