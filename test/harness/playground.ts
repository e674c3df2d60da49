/**
 * What one test has begun, to be undone when it is over, in reverse, whether it passed or not: folders (with the data they link to),
 * processes, proxies. One step that fails does not keep the others from being undone; its error is thrown at the end.
 */

import { chmodSync, lstatSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { killPostgres, killWorkersIn } from './postgres-process.ts'

export class Playground {
  readonly #undo: (() => unknown)[] = []

  onUndo(step: () => unknown): void {
    this.#undo.push(step)
  }

  /** A data folder for a server. A PostgreSQL still running in it is ended first, however it came to be left there. */
  dataDir(): string {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-test-'))
    // Root lends PostgreSQL another account, which must be able to enter.
    chmodSync(folder, 0o755)
    const dataDir = join(folder, 'data')
    this.onUndo(async () => {
      await killPostgres(dataDir)
      await killWorkersIn(folder)
      const data = join(dataDir, 'postgres')
      if (lstatSync(data, { throwIfNoEntry: false })?.isSymbolicLink()) removeOutside(readlinkSync(data))
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
    })
    return dataDir
  }

  async undo(): Promise<void> {
    const errors: unknown[] = []
    for (const step of this.#undo.splice(0).reverse()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `could not tidy up: ${errors.map(String).join('; ')}`)
  }
}

/** Only what the embedded server itself puts outside a data folder: `data-` and a random number. */
function removeOutside(folder: string): void {
  if (!/^data-[0-9a-f]+$/.test(basename(folder))) throw new Error(`not removing ${folder}`)
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}
