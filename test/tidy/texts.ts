/** How files open, what they are called, how long they are, and what must not stand in them. */

import { at, type Rule, tree } from './rule.ts'
import { sourceOf } from './source.ts'
import { isSuite, isTest, isTypeScript } from './tree.ts'

const LINES_MAX = 400
const CODE_FOLDERS = /^(src|test|bench|cluster|web|bin|examples)\//

/** Written in two halves, so that this file does not hold the words it looks for. */
const LATER = ['TO', 'FIX', 'XX', 'HA'].map((half, i) => half + ['DO', 'ME', 'X', 'CK'][i])
const MACHINE_FOLDERS = ['work', 'root', 'farm', 'home', 'Users']

export const headersOfCode: Rule = {
  name: 'every TypeScript file opens by saying what it is for',
  remedy:
    'Begin the file with /** what it is for, what it guarantees, what it deliberately does not do */. Tests need none: their names say it.',
  check: files =>
    files
      .filter(file => isTypeScript(file) && CODE_FOLDERS.test(file.path) && !/\.test\.tsx?$/.test(file.path))
      .filter(file => !/^(#!.*\n)?\/\*\*[\s\S]*?\w[\s\S]*?\*\//.test(file.text))
      .map(file => `${file.path}: opens without a header`),
  breaks: [
    tree('src/base/x.ts', 'export const x = 1'),
    tree('src/base/x.ts', '// short\nexport const x = 1'),
    tree('test/x.ts', "import { a } from './a.ts'\n/** Late. */"),
  ],
  keeps: [
    tree('src/base/x.ts', '/** Counts. */\nexport const x = 1', 'src/base/x.test.ts', "import { x } from './x.ts'"),
  ],
}

export const namesMeanSomething: Rule = {
  name: 'no file or folder is called utils, helpers, common, misc, manager or types',
  remedy: 'Name the file after its main export; several small ideas are several small files.',
  check: files =>
    files
      .filter(file => CODE_FOLDERS.test(file.path))
      .filter(file =>
        file.path
          .split('/')
          .some(part => /^(utils?|helpers?|common|misc|managers?|types?|interfaces?)(\.|$)/.test(part)),
      )
      .map(file => `${file.path}: says nothing about what is inside`),
  breaks: [tree('src/base/utils.ts', ''), tree('src/helpers/x.ts', ''), tree('test/types.test.ts', '')],
  keeps: [tree('src/base/type-guard.ts', '', 'docs/misc/x.md', '')],
}

export const filesAreShort: Rule = {
  name: `no file of src is longer than ${LINES_MAX} lines, migrations aside: they repeat whole functions`,
  remedy: 'Look for the second idea in it and give it a file of its own.',
  check: files =>
    files
      .filter(file => file.path.startsWith('src/') && !file.path.startsWith('src/ledger/migrations/'))
      .map(file => ({ path: file.path, lines: file.text.replace(/\n$/, '').split('\n').length }))
      .filter(({ lines }) => lines > LINES_MAX)
      .map(({ path, lines }) => `${path}: ${lines} lines`),
  breaks: [tree('src/base/x.ts', 'x\n'.repeat(LINES_MAX + 1))],
  keeps: [
    tree('src/base/x.ts', 'x\n'.repeat(LINES_MAX)),
    tree('src/ledger/migrations/0001_x.sql', 'x\n'.repeat(LINES_MAX + 1)),
  ],
}

export const noMachinePaths: Rule = {
  name: "no path of somebody's machine",
  remedy: 'Use a path from the root of the project, import.meta.dirname or os.tmpdir().',
  check(files) {
    const form = new RegExp(`(?<![\\w.}/-])/(${MACHINE_FOLDERS.join('|')})/\\w`, 'g')
    return files.flatMap(file =>
      Array.from(file.text.matchAll(form), match => `${at(file, match.index)}: ${match[0]}…`),
    )
  },
  breaks: MACHINE_FOLDERS.map(folder => tree('README.md', `see /${folder}/x`)),
  keeps: MACHINE_FOLDERS.map(folder =>
    tree('README.md', `see ./${folder}/x, src/${folder}/x, https://example.com/${folder}/x and /tmp/x`),
  ),
}

export const nothingForLater: Rule = {
  name: 'nothing is left for later in a comment',
  remedy: 'Do it, drop it, or open an issue.',
  check(files) {
    const form = new RegExp(`\\b(${LATER.join('|')})\\b`, 'g')
    return files
      .filter(file => file.path !== 'package-lock.json')
      .flatMap(file => Array.from(file.text.matchAll(form), match => `${at(file, match.index)}: ${match[0]}`))
  },
  breaks: LATER.map(word => tree('src/base/x.ts', `// ${word}: later`)),
  keeps: [tree('src/base/x.ts', "const todo = ['hack']")],
}

const NEVER_RUN =
  /\b(?:test|it|describe|each\([^)]*\)|concurrent|serial)\.(?:skip|only|todo|failing|todoIf)\b|\b(?:xit|xtest|xdescribe|fit|fdescribe)\s*\(/g
const SOMETIMES_RUN = /\b(?:test|it|describe|each\([^)]*\)|concurrent|serial)\.(?:if|skipIf)\b/g

export const nothingSkipped: Rule = {
  name: 'no test is skipped, singled out or left to be written; one that depends on the machine says why',
  remedy:
    'Make it run, or delete it. A suite for several adapters registers only the tests that apply. ' +
    'test.if and test.skipIf need their reason in a comment on the line above.',
  check: files =>
    files
      .filter(file => isTypeScript(file) && (isTest(file.path) || isSuite(file.path)))
      .flatMap(file => {
        const { code } = sourceOf(file)
        const unexplained = Array.from(code.matchAll(SOMETIMES_RUN)).filter(({ index }) => {
          const above = file.text.slice(0, index).split('\n').at(-2)?.trim() ?? ''
          return !/^(\/\/|\/?\*).*\w|\w.*\*\/$/.test(above)
        })
        return [...code.matchAll(NEVER_RUN), ...unexplained].map(match => `${at(file, match.index)}: ${match[0]}`)
      }),
  breaks: [
    ...['skip', 'only', 'todo'].flatMap(word => [`test.${word}(1)`, `describe.${word}(1)`]),
    'xit(1)',
    `test.concurrent.${'skip'}(1)`,
    'test.if(x)(1)',
    'const a = 1\nit.skipIf(x)(1)',
    `// It fails.\ntest.${'skip'}(1)`,
  ].map(text => tree('src/base/x.test.ts', text)),
  keeps: [
    tree('src/base/x.test.ts', `test('does not skip', () => {}) // test.${'skip'}\nlatest.${'only'}(1)`),
    tree('src/base/x.test.ts', '// Only root can switch accounts.\ntest.if(isRoot)(1)'),
  ],
}

export const testsAreFound: Rule = {
  name: 'every test lies where npm test finds it',
  remedy: 'Call it *.test.ts (or *.long.test.ts) and put it beside the code or under test/.',
  check: files =>
    files
      .filter(
        file =>
          /([._]spec|_test)\.[jt]sx?$|\.test\.([jt]sx|m?js)$/.test(file.path) ||
          (file.path.endsWith('.test.ts') && !/^(src|test|bench|cluster|web)\//.test(file.path)),
      )
      .map(file => `${file.path}: is never run`),
  breaks: [
    tree('src/base/x.spec.ts', ''),
    tree('src/base/x_test.ts', ''),
    tree('docs/x.test.ts', ''),
    tree('test/x.test.js', ''),
  ],
  keeps: [tree('src/base/x.test.ts', '', 'test/x.long.test.ts', '', 'src/gate/gate.contract.ts', '')],
}

const ROOMS = 'base|domain|admission|catalog|gate|ledger|payment|events|telemetry|flows|edge|app|cli|rehearsal'
const ROOTED = /^(?:src|test|bench|cluster|web|bin|docs|deploy|examples|\.ci)(?:\/|$)/
const IN_SRC = new RegExp(`^(?:${ROOMS})/|^main\\.ts$`)
const BARE_FILE = /^[\w.-]+\.(?:ts|mjs|sql|lua|md|json)$/

export const docsNameWhatIs: Rule = {
  name: 'the docs name only files that exist',
  remedy:
    'Mend the name, or write the file. In docs, paths in backticks count from the root or from src; * matches any name.',
  check(files) {
    const paths = files.map(file => file.path)
    const exists = (path: string) => {
      const form = new RegExp(
        `^${path
          .replace(/\/$/, '')
          .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
          .replaceAll('*', '[^/]*')}(/|$)`,
      )
      return paths.some(one => form.test(one))
    }
    const found: string[] = []
    for (const file of files.filter(one => one.path.endsWith('.md'))) {
      const folder = file.path.includes('/') ? file.path.replace(/[^/]*$/, '') : ''
      // Fenced blocks hold commands and pictures, not names: blanked, with their lines kept.
      const text = file.text.replace(/^```[\s\S]*?^```/gm, block => block.replace(/[^\n]/g, ' '))
      for (const match of text.matchAll(/`([^`\s]+)`/g)) {
        const name = (match[1] as string).replace(/:\d+$/, '')
        if (/[<>…]|NNNN/.test(name)) continue
        const known = ROOTED.test(name)
          ? exists(name)
          : IN_SRC.test(name)
            ? exists(`src/${name}`)
            : BARE_FILE.test(name)
              ? paths.some(path => new RegExp(`(^|/)${name.replaceAll('.', '\\.')}$`).test(path))
              : true
        if (!known) found.push(`${at(file, match.index)}: there is no ${name}`)
      }
      for (const match of text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)) {
        const parts: string[] = []
        for (const part of `${folder}${match[1]}`.split('/')) {
          if (part === '..') parts.pop()
          else if (part !== '.' && part !== '') parts.push(part)
        }
        if (!exists(parts.join('/'))) found.push(`${at(file, match.index)}: there is no ${match[1]}`)
      }
    }
    return found
  },
  breaks: [
    tree('README.md', 'look at `src/gone.ts`'),
    tree('README.md', 'look at `base/gone.ts`', 'src/base/here.ts', ''),
    tree('docs/x.md', 'look at `gone.sql`'),
    tree('docs/x.md', 'look at [it](./gone.md)'),
    tree('README.md', 'look at `src/*/gone.ts`', 'src/base/here.ts', ''),
  ],
  keeps: [
    tree(
      'README.md',
      '`src/base/x.ts` `base/x.ts` `x.ts` `src/base/` `src/*/x.ts` `src/NNNN_name.sql` `a/b` `npm ci`',
      'src/base/x.ts',
      '',
    ),
    tree(
      'README.md',
      '```\n`src/gone.ts`\n```\n[doc](docs/x.md#part) [web](https://example.com/x)',
      'docs/x.md',
      '[back](../README.md)',
    ),
  ],
}
