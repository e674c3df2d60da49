/** A real server that speaks S3's protocol, on a free port and a folder of its own, with one bucket. It is gone when the playground is undone. */

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureVersitygw } from '../pages/program.ts'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { until } from './until.ts'

export const S3_KEYS = { accessKey: 'key-of-the-tests', secretKey: 'secret-of-the-tests-only', region: 'eu-test-1' }
export const S3_BUCKET = 'pages'

export async function startS3(playground: Playground) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-s3-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const [objects, notes] = [join(folder, 'objects'), join(folder, 'notes')]
  for (const one of [join(objects, S3_BUCKET), notes]) mkdirSync(one, { recursive: true })
  const address = `127.0.0.1:${await freePort()}`
  const args = ['--port', address, '--region', S3_KEYS.region, '--quiet', 'posix', '--sidecar', notes, objects]
  const env = { ROOT_ACCESS_KEY: S3_KEYS.accessKey, ROOT_SECRET_KEY: S3_KEYS.secretKey, HOME: folder }
  const child = spawn(ensureVersitygw(console.log), args, { env, stdio: 'ignore' })
  const ended = new Promise<void>(done => child.once('close', () => done()))
  playground.onUndo(() => {
    child.kill('SIGKILL')
    return ended
  })
  const endpoint = `http://${address}`
  await until('the server of S3 answers', () => fetch(endpoint).catch(() => undefined))
  return { endpoint, folder: join(objects, S3_BUCKET) }
}
