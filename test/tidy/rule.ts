/** The form of a tidy rule: a pure function over files, with samples that prove it can fail and can pass. */

import type { File } from './tree.ts'

export interface Rule {
  /** A promise about the code; the test's name. */
  readonly name: string
  /** What a newcomer does about a finding. */
  readonly remedy: string
  /** One line per finding, `path: what`. Empty when all is well. */
  check(files: readonly File[]): string[]
  /** Small made-up trees that break the rule: each must give a finding. */
  readonly breaks: readonly File[][]
  /** Made-up trees that look alike and keep it: none may give a finding. */
  readonly keeps: readonly File[][]
}

/** Writes a sample tree: path, text, path, text, … */
export function tree(...pathsAndTexts: string[]): File[] {
  const files: File[] = []
  for (let i = 0; i + 1 < pathsAndTexts.length; i += 2) {
    files.push({ path: pathsAndTexts[i] as string, text: pathsAndTexts[i + 1] as string })
  }
  return files
}

/** `line 3` style positions make a finding easy to open. */
export function at(file: File, index: number): string {
  let line = 1
  for (let i = file.text.indexOf('\n'); i !== -1 && i < index; i = file.text.indexOf('\n', i + 1)) line += 1
  return `${file.path}:${line}`
}
