/** A document and its Chinese form say the same: the same headings, the same commands, the same links and pictures. */

import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const fromRoot = (path: string) => resolve(import.meta.dirname, '..', path)
const read = (path: string) => readFileSync(fromRoot(path), 'utf8')
const howTos = (folder: string) => readdirSync(fromRoot(folder)).toSorted()

const PAIRS = [
  ['README.md', 'README.zh-CN.md'],
  ...howTos('docs/how-to').map(name => [`docs/how-to/${name}`, `docs/zh/how-to/${name}`] as const),
] as const

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

test('every how-to has its Chinese form, and every Chinese one its original', () => {
  expect(howTos('docs/zh/how-to')).toEqual(howTos('docs/how-to'))
})

/** A reader of Chinese is led to the Chinese form wherever there is one. */
test.each(PAIRS.map(([, chinese]) => chinese))('%s leads to Chinese how-tos', chinese => {
  const links = [...prose(read(chinese)).matchAll(/\]\(([^)#]+\.md)/g)].map(([, target = '']) =>
    join(dirname(chinese), target),
  )
  expect(links.filter(link => link.startsWith('docs/how-to/'))).toEqual([])
})

for (const [english, chinese] of PAIRS) {
  test(`${chinese} is ${english}`, () => {
    const [one, other] = [read(english), read(chinese)]
    expect(levels(other)).toEqual(levels(one))
    expect(commands(other)).toEqual(commands(one))
    expect(targets(other, chinese)).toEqual(targets(one, english))
    expect(prose(other)).toMatch(/\p{Script=Han}/u)
  })
}
