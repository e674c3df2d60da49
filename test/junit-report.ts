/** What Bun's report says of one test file. Nobody else is asked how a run went. */

import { readFileSync } from 'node:fs'

export interface Counts {
  readonly passed: number
  readonly failed: number
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Silent: the report does not name the file. */
export function countReport(path: string, file: string): Counts & { skipped: number; silent: boolean } {
  const xml = readIfThere(path)
  const total = /<testsuites [^>]*>/.exec(xml)?.[0] ?? ''
  const number = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(total)?.[1] ?? 0)
  const named = Array.from(xml.matchAll(/<testsuite [^>]*?file="([^"]*)"/g), match => plain(match[1] ?? ''))
  const failed = number('failures')
  return {
    passed: number('tests') - failed - number('skipped'),
    failed,
    skipped: number('skipped'),
    silent: !named.includes(file),
  }
}

function plain(xml: string): string {
  return xml
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll('\\', '/')
}
