/** A figure that was measured stands in docs/performance.md as it was printed; whoever quotes it elsewhere quotes that. */

import { at, type Rule, tree } from './rule.ts'
import type { File } from './tree.ts'

const PRINTED = 'docs/performance.md'
/** Where figures are quoted, and which part of the text is about them. */
const QUOTED: Readonly<Record<string, RegExp>> = {
  'docs/choosing.md': /^\| measured.*$|`orders \/.*?`/gm,
  'src/cli/doctor/plan.ts': /^const MEASURED = .*$/gm,
}
/** From a thousand on: smaller ones are cores, connections and the like. */
const FIGURE = /\b\d{1,3}(?:[,_]\d{3})+\b/g

export const figuresWerePrinted: Rule = {
  name: `a rate that is quoted stands in ${PRINTED}`,
  remedy: `After a new measurement, carry its figures over to ${Object.keys(QUOTED).join(' and ')}.`,
  check(files) {
    const printed = new Set(files.find(file => file.path === PRINTED)?.text.match(/\b\d{4,}\b/g))
    return files.flatMap(file =>
      quotedBy(file)
        .filter(({ figure }) => !printed.has(figure))
        .map(said),
    )
  },
  breaks: [
    tree(PRINTED, 'sold-out 1234 [1000–2000]', 'docs/choosing.md', '| measured | 1,235 orders |'),
    tree(PRINTED, 'sold-out 1234', 'docs/choosing.md', 'reckon with `orders / 1,234 + refusals / 9,999`'),
    tree(PRINTED, 'sold-out 12345', 'src/cli/doctor/plan.ts', 'const MEASURED = { refused: 2_345 }'),
  ],
  keeps: [
    tree(PRINTED, 'sold-out 1234', 'docs/choosing.md', '| measured | 1,234 orders |\n| bound | 20,000 |'),
    tree(
      PRINTED,
      'a 1234 b 73366',
      'src/cli/doctor/plan.ts',
      'const MEASURED = { a: 1_234, b: 73_366 }\nconst MAX = 1_000_000',
    ),
  ],
}

function quotedBy(file: File): { readonly where: string; readonly figure: string }[] {
  const about = QUOTED[file.path]
  if (about === undefined) return []
  return [...file.text.matchAll(about)].flatMap(part =>
    Array.from(part[0].matchAll(FIGURE), ([figure]) => ({
      where: at(file, part.index),
      figure: figure.replace(/[,_]/g, ''),
    })),
  )
}

function said({ where, figure }: { readonly where: string; readonly figure: string }): string {
  return `${where}: ${figure} is not there`
}
