/**
 * The documents of a YAML file. Stricter than the parser that comes with Bun, which lets the last of two equal keys win: here that is an
 * error, as it is for those who read the file in earnest. Looks for it line by line, so it knows block mappings only.
 */

import { readFileSync } from 'node:fs'

export function readYaml(path: string): unknown[] {
  const text = readFileSync(path, 'utf8')
  const twice = equalKeys(text)
  if (twice.length > 0) throw new Error(`${path}: ${twice.join('; ')}`)
  const read: unknown = Bun.YAML.parse(text)
  return /^---$/m.test(text) ? (read as unknown[]) : [read]
}

/** Keys that stand twice in one mapping, with their lines. */
export function equalKeys(text: string): string[] {
  const found: string[] = []
  /** What is open at this line, outermost first. */
  let open: { readonly indent: number; readonly keys: Set<string> }[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '---') open = []
    const {
      lead = '',
      dash = '',
      key,
    } = /^(?<lead> *)(?<dash>(?:- +)*)(?<key>[\w./<-]+|'[^']*'|"[^"]*"):(?: |$)/.exec(line)?.groups ?? {}
    if (key === undefined) continue
    const indent = lead.length + dash.length
    // A dash begins a new mapping, also at the depth of the one before.
    open = open.filter(one => one.indent < (dash === '' ? indent + 1 : lead.length + 1))
    const own = open.at(-1)
    if (own?.indent !== indent) open.push({ indent, keys: new Set([key]) })
    else if (own.keys.has(key)) found.push(`line ${index + 1}: ${key} stands there twice`)
    else own.keys.add(key)
  }
  return found
}
