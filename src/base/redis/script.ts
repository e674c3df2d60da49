/**
 * Lua scripts as source: one file per operation in a folder, each behind the code they share (`prelude.lua` here, `lib.lua` there). A
 * script is called by its digest. The first line that Redis reads declares what it may do: a script that may not use more memory is
 * refused before it starts, so that none is stopped halfway (what was written would stay).
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Script {
  readonly name: string
  readonly text: string
  readonly digest: string
}

/**
 * reads         writes nothing
 * reads_across  the same, and in a cluster it reads keys of several slots, which must all be on the server that runs it
 * grows         writes, and is refused when the server's memory is full
 * always        writes next to nothing or gives back: must work on a full server too
 */
type ScriptKind = 'reads' | 'reads_across' | 'grows' | 'always'

const FIRST_LINE: Readonly<Record<ScriptKind, string>> = {
  reads: '#!lua flags=no-writes',
  reads_across: '#!lua flags=no-writes,allow-cross-slot-keys',
  grows: '#!lua',
  always: '#!lua flags=allow-oom',
}

/** One call: a script's own. Several: `several.lua` puts many calls of it into one. */
type Calls = 'one' | 'several'

/** @param folder where the scripts of one part are */
export function scriptsIn(folder: URL): (name: string, kind: ScriptKind, calls?: Calls) => Script {
  const read = (name: string, from = folder) => readFileSync(fileURLToPath(new URL(`${name}.lua`, from)), 'utf8')
  const here = new URL(import.meta.url)
  const shared = [read('prelude', here), read('lib')]
  const several = read('several', here)
  return (name, kind, calls = 'one') => {
    const body = calls === 'one' ? [read(name)] : ['local function one(KEYS, ARGV)', read(name), 'end', several]
    const text = [FIRST_LINE[kind], ...shared, ...body].join('\n')
    return { name, text, digest: createHash('sha1').update(text).digest('hex') }
  }
}
