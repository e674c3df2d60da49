/** The servers of a rehearsal, each as a process of its own: the task on standard input, and it ends with that. */

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { readConfig } from '../../app/config/config.ts'
import { removeDataDir } from '../../app/config/data-dir.ts'
import { serve } from '../../app/start/lifecycle.ts'
import { serveConstant } from '../../edge/constant-server.ts'
import { readTask } from '../standard-input.ts'

export async function serveRehearsal(): Promise<void> {
  const stopping = new AbortController()
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => stopping.abort())
  const { folder, settings } = await readTask<{ folder: string; settings: Record<string, string> }>(stopping)
  try {
    await serve(readConfig(settings), { print: text => process.stdout.write(`${text}\n`) }, stopping.signal)
  } finally {
    process.chdir(tmpdir())
    if (settings.DATA_DIR !== undefined) removeDataDir(settings.DATA_DIR)
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

export async function serveConstantRehearsal(): Promise<void> {
  const stopping = new AbortController()
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => stopping.abort())
  await readTask(stopping)
  const server = await serveConstant()
  process.stdout.write(`constant server ready on ${server.url}\n`)
  await new Promise<void>(over => {
    if (stopping.signal.aborted) over()
    stopping.signal.addEventListener('abort', () => over())
  })
  await server.stop()
}
