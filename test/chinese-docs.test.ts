/** A document and its Chinese form say the same: the same headings, the same commands, the same links and pictures. */

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const PAIRS = [
  ['README.md', 'README.zh-CN.md'],
  ...['fulfilling', 'going-live', 'importing', 'own-login'].map(
    name => [`docs/how-to/${name}.md`, `docs/zh/how-to/${name}.md`] as const,
  ),
] as const

const read = (path: string) => readFileSync(resolve(import.meta.dirname, '..', path), 'utf8')
const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '')
const levels = (text: string) => [...prose(text).matchAll(/^(#+) /gm)].map(([, marks]) => marks)
/** From the root, whatever folder the document is in; a translated document counts as its original. */
const targets = (text: string, path: string) =>
  [...prose(text).matchAll(/\]\(([^)]+)\)/g)]
    .flatMap(([, target = '']) => (/^README/.test(target) ? [] : [target]))
    .map(target => (/^[a-z]+:/.test(target) ? target : join(dirname(path), target).replace(/^docs\/zh\//, 'docs/')))
    .sort()

/** Code in fences and indented code, without comments, which are translated. */
function commands(text: string): readonly string[] {
  const fenced = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, code = '']) => code.split('\n'))
  const indented = prose(text).match(/^ {4}\S.*$/gm) ?? []
  return [...fenced, ...indented].map(line => line.replace(/(^|\s+)# .*$/, '').trim()).filter(line => line !== '')
}

for (const [english, chinese] of PAIRS) {
  test(`${chinese} is ${english}`, () => {
    const [one, other] = [read(english), read(chinese)]
    expect(levels(other)).toEqual(levels(one))
    expect(commands(other)).toEqual(commands(one))
    expect(targets(other, chinese)).toEqual(targets(one, english))
    expect(prose(other)).toMatch(/\p{Script=Han}/u)
  })
}
