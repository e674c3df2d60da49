/**
 * Reads TypeScript just well enough for the tidy rules: which parts are code, what is imported, what is exported.
 * `code` has the length and the lines of the text, with comments, string contents and regular expressions blanked, so a position
 * in one is a position in the other. Not a parser: it knows the forms this project's formatter writes.
 */

import { posix } from 'node:path'
import type { File } from './tree.ts'

export interface Import {
  /** As written. */
  readonly from: string
  /** The file meant, for relative imports. */
  readonly target: string | undefined
  /** Names taken from it; undefined means all of them. */
  readonly names: readonly string[] | undefined
  readonly index: number
}

interface Export {
  readonly name: string
  readonly index: number
}

interface Source {
  readonly code: string
  readonly imports: readonly Import[]
  readonly exports: readonly Export[]
}

const read = new WeakMap<File, Source>()

export function sourceOf(file: File): Source {
  let source = read.get(file)
  if (source === undefined) {
    const code = codeOf(file.text)
    const imports = importsOf(file, code)
    source = { code, imports, exports: exportsOf(code) }
    read.set(file, source)
  }
  return source
}

/** What a slash may follow when it begins a regular expression rather than a division. */
const BEFORE_REGEX = /(^|[=(,:[!&|?{};+\-*%<>~^]|\b(return|typeof|case|in|of|await|yield))$/

/** Keeps code, blanks the rest. Substitutions in template literals are code. */
function codeOf(text: string): string {
  const out: string[] = []
  const templates: number[] = []
  let depth = 0
  let i = 0
  const blank = (to: number) => {
    for (; i < to; i++) out.push(text[i] === '\n' ? '\n' : ' ')
  }
  const keep = () => {
    out.push(text[i] as string)
    i += 1
  }
  /** From inside a template literal up to its end or its next substitution. */
  const template = () => {
    let end = i
    while (end < text.length && text[end] !== '`' && !(text[end] === '$' && text[end + 1] === '{')) {
      end += text[end] === '\\' ? 2 : 1
    }
    blank(Math.min(end, text.length))
    if (i >= text.length) return
    if (text[i] === '`') return keep()
    keep()
    keep()
    templates.push(depth)
  }
  while (i < text.length) {
    const char = text[i] as string
    const next = text[i + 1]
    if (char === '/' && next === '/') blank(indexOrEnd(text, '\n', i))
    else if (char === '/' && next === '*') blank(Math.min(indexOrEnd(text, '*/', i + 2) + 2, text.length))
    else if (char === "'" || char === '"') {
      keep()
      let end = i
      while (end < text.length && text[end] !== char && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1
      blank(Math.min(end, text.length))
      if (i < text.length) keep()
    } else if (char === '`') {
      keep()
      template()
    } else if (char === '/' && BEFORE_REGEX.test(lastWord(out))) blank(regexEnd(text, i))
    else if (char === '}' && templates.at(-1) === depth) {
      templates.pop()
      keep()
      template()
    } else {
      if (char === '{') depth += 1
      if (char === '}') depth -= 1
      keep()
    }
  }
  return out.join('')
}

function indexOrEnd(text: string, mark: string, from: number): number {
  const index = text.indexOf(mark, from)
  return index === -1 ? text.length : index
}

/** The end of what was written so far, without the blanks: enough to tell a division from a regular expression. */
function lastWord(out: readonly string[]): string {
  let end = out.length
  while (end > 0 && /\s/.test(out[end - 1] as string)) end -= 1
  return out.slice(Math.max(0, end - 8), end).join('')
}

function regexEnd(text: string, start: number): number {
  let inClass = false
  for (let i = start + 1; i < text.length; i++) {
    const char = text[i]
    if (char === '\n') return start + 1
    if (char === '\\') i += 1
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '/' && !inClass) return i + 1
  }
  return text.length
}

const IMPORT = /\b(?:import|export)\b(?<clause>(?:(?!\b(?:import|export)\b)[\w\s{},*$])*?)\bfrom\s*(?<quote>['"])/g
const IMPORT_BARE = /^\s*import\s*(?<quote>['"])/gm
const IMPORT_CALL = /\bimport\(\s*(?<quote>['"])/g

function importsOf(file: File, code: string): Import[] {
  const imports: Import[] = []
  for (const form of [IMPORT, IMPORT_BARE, IMPORT_CALL]) {
    for (const match of code.matchAll(form)) {
      const start = match.index + match[0].length
      const from = file.text.slice(start, code.indexOf(match.groups?.quote as string, start))
      const target = from.startsWith('.') ? posix.normalize(posix.join(posix.dirname(file.path), from)) : undefined
      const names = form === IMPORT_CALL ? undefined : namesIn(match.groups?.clause ?? '{}')
      imports.push({ from, target, names, index: match.index })
    }
  }
  return imports
}

/** `{ a, type b, c as d }` gives the names on the other side: a, b, c. `* as x` and `*` give undefined: all of them. */
function namesIn(clause: string): string[] | undefined {
  if (clause.includes('*')) return undefined
  const names = list(/\{([^}]*)\}/.exec(clause)?.[1] ?? '').map(part => part.split(/\s+as\s+/)[0] as string)
  const outside = clause.replace(/\{[^}]*\}/, '').replace(/^\s*type\b/, '')
  return /[\w$]/.test(outside) ? [...names, 'default'] : names
}

function list(inBraces: string): string[] {
  return inBraces
    .split(',')
    .map(part => part.trim().replace(/^type\s+/, ''))
    .filter(part => part !== '')
}

const EXPORT_DECLARED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|const|let|var|interface|type|namespace)\s+(?<name>[\w$]+)/gm
const EXPORT_LIST = /^export\s+(?:type\s+)?\{(?<names>[^}]*)\}/gm
const EXPORT_DEFAULT = /^export\s+default\b/gm

function exportsOf(code: string): Export[] {
  const exports: Export[] = []
  for (const match of code.matchAll(EXPORT_DECLARED)) {
    exports.push({ name: match.groups?.name as string, index: match.index })
  }
  for (const match of code.matchAll(EXPORT_LIST)) {
    for (const part of list(match.groups?.names as string)) {
      exports.push({ name: part.split(/\s+as\s+/).at(-1) as string, index: match.index })
    }
  }
  for (const match of code.matchAll(EXPORT_DEFAULT)) exports.push({ name: 'default', index: match.index })
  return exports
}
