/** The throwaway server of a rehearsal, as a process of its own: settings on standard input, and it ends with that. */

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { readConfig } from '../app/config.ts'
import { removeDataDir } from '../app/data-dir.ts'
import { serve } from '../app/lifecycle.ts'
import { Fault } from '../base/fault.ts'

/** Ends with its standard input: whoever started it may die in any way, and nothing of this stays behind. */
export async function serveRehearsal(): Promise<void> {
  const stopping = new AbortController()
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => stopping.abort())
  const lines = createInterface({ input: process.stdin })
  const first = Promise.withResolvers<string>()
  lines.once('line', first.resolve)
  lines.once('close', () => {
    first.reject(new Fault('no_settings', 'a rehearsal’s server gets its settings on standard input'))
    stopping.abort()
  })
  const { folder, settings } = JSON.parse(await first.promise) as { folder: string; settings: Record<string, string> }
  try {
    await serve(readConfig(settings), text => process.stdout.write(`${text}\n`), stopping.signal)
  } finally {
    process.chdir(tmpdir())
    if (settings.DATA_DIR !== undefined) removeDataDir(settings.DATA_DIR)
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}
