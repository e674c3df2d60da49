/**
 * nginx with one worker on the server's core, answering every request with the same status and body: a web server written in C as a
 * reference. Has its own folder, writes no access log, and is stopped by its process id.
 */

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { Connection } from '../../src/rehearsal/client/connection.ts'
import { freePort } from '../../test/harness/free-port.ts'
import { onServerCore } from '../cores.ts'
import { endable } from '../endable.ts'
import type { Child, ConstantAnswer } from './child.ts'

const PROGRAM = '/usr/sbin/nginx'
const HOST = '127.0.0.1'
const READY_MS_MAX = 10_000
const LOOK_EVERY_MS = 20

export async function startNginx(answer: ConstantAnswer): Promise<Child> {
  const folder = await mkdtemp(join(tmpdir(), 'stampede-bench-nginx-'))
  const port = await freePort()
  await writeFile(join(folder, 'nginx.conf'), configuration(port, answer))
  const [program, ...args] = onServerCore([PROGRAM, '-p', folder, '-c', 'nginx.conf', '-e', 'error.log'])
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  let why: string | undefined
  const ended = new Promise<void>(resolve => {
    child.once('error', error => {
      why = error.message
      resolve()
    })
    child.once('exit', (code, signal) => {
      why ??= `it ended (${signal ?? code})`
      resolve()
    })
  })
  const stop = endable(async () => {
    if (why === undefined) child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const target = { host: HOST, port }
  const lateMs = systemClock.elapsed() + READY_MS_MAX
  for (;;) {
    const there = await Connection.open(
      target,
      () => {},
      () => {},
    ).catch(() => undefined)
    if (there !== undefined && why === undefined) {
      there.close()
      return { pid: child.pid!, target, stop }
    }
    if (why !== undefined || systemClock.elapsed() > lateMs) {
      await stop()
      throw new Error(`nginx could not be started: ${why ?? 'it was not ready in time'}`)
    }
    await systemClock.sleep(LOOK_EVERY_MS)
  }
}

function configuration(port: number, { status, headers, body }: ConstantAnswer): string {
  // A dollar sign begins a variable in nginx's strings; the measured answers contain none.
  if (body.includes('$')) throw new Error('an answer with a dollar sign')
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const { 'content-type': type = 'text/plain', ...others } = headers
  const added = Object.entries(others).map(([name, value]) => `add_header ${name} ${quote(value)} always;`)
  return `daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  server_tokens off;
  keepalive_requests 1000000000;
  keepalive_timeout 60s;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen ${HOST}:${port} backlog=4096;
    default_type ${type};
    ${added.join('\n    ')}
    location / { return ${status} ${quote(body)}; }
  }
}
`
}
