/**
 * The `stampede` program as tests start it: `src/main.ts`, and within `npm test` the same code compiled once for the whole run. A run starts
 * more than a thousand processes, and reading and translating the sources takes each of them longer than all else it does until it is ready.
 * Compiled means bundled and nothing more: every file keeps the path it has in the project, so that scripts, statements and pages are
 * found where they are.
 */

import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = resolve(import.meta.dirname, '../..')
const SOURCE = join(ROOT, 'src/main.ts')

/** The compiled program of a run. */
export const PROGRAM_VARIABLE = 'STAMPEDE_TEST_PROGRAM'

export const PROGRAM = process.env[PROGRAM_VARIABLE] ?? SOURCE

/** Returns the path of the compiled program. */
export async function compileProgram(folder: string): Promise<string> {
  const outdir = join(folder, 'program')
  const built = await Bun.build({
    entrypoints: [SOURCE],
    outdir,
    target: 'bun',
    format: 'cjs',
    bytecode: true,
    sourcemap: 'linked',
    plugins: [
      {
        name: 'every file keeps its path',
        setup(build) {
          build.onLoad({ filter: /\/(src|web)\/.*\.tsx?$|\/@platformatic\/wasm-utils\/.*\.js$/ }, ({ path }) => ({
            contents: withPath(readFileSync(path, 'utf8'), path),
            loader: path.endsWith('x') ? 'tsx' : 'ts',
          }))
        },
      },
    ],
  })
  if (!built.success) throw new AggregateError(built.logs, 'the program could not be compiled')
  return join(outdir, 'main.js')
}

function withPath(text: string, path: string): string {
  return text
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
}
