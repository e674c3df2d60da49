/**
 * The nginx sites of deploy/ in a real nginx, as shipped: only ports, upstreams, certificates and the folder of the page are put in their
 * place, each of which must be there to be replaced. Beside the site it has a second server that tells who a client counts as, and believes the
 * header `X-Test-Address` about where a request comes from, so that one machine can be many clients.
 */

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { until } from './until.ts'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const PROGRAM = '/usr/sbin/nginx'
const PAGE = '/var/www/stampede'
const CACHE = '/var/cache/stampede'

interface SiteOptions {
  /** Under deploy/. */
  readonly site: string
  /** A folder that "stampede page build" wrote. */
  readonly page: string
  /** What stands in the site, and what shall stand there. */
  readonly instead: readonly (readonly [shipped: string, here: string])[]
}

/** The site in a folder of its own. `test` is what `nginx -t` says, `start` returns when it answers at that address. */
export async function layOutSite(playground: Playground, { site, page, instead }: SiteOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-site-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  // Started by root, its workers are somebody else.
  chmodSync(folder, 0o755)
  cpSync(page, join(folder, 'page'), { recursive: true })
  chmodSync(join(folder, 'page'), 0o755)
  const whoPort = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), around(whoPort))
  const inc = readFileSync(join(DEPLOY, 'nginx/stampede-site.inc'), 'utf8')
  writeFileSync(join(folder, 'stampede-site.inc'), put(inc, [[PAGE, join(folder, 'page')]], 2))
  const http = readFileSync(join(DEPLOY, 'nginx/stampede-http.inc'), 'utf8')
  writeFileSync(join(folder, 'stampede-http.inc'), put(http, [[CACHE, join(folder, 'cache')]], 2))
  writeFileSync(join(folder, 'site.conf'), put(readFileSync(join(DEPLOY, site), 'utf8'), instead, 1))
  const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log']
  return {
    folder,
    whoUrl: `http://127.0.0.1:${whoPort}`,
    test: () => spawnSync(PROGRAM, ['-t', ...args], { encoding: 'utf8' }),
    async start(): Promise<void> {
      const child = spawn(PROGRAM, args, { stdio: 'ignore' })
      let running = true
      const ended = new Promise<void>(done => {
        child.once('close', () => {
          running = false
          done()
        })
      })
      // SIGTERM to the master ends its workers at once; SIGKILL would leave them.
      playground.onUndo(() => {
        child.kill('SIGTERM')
        return ended
      })
      await until('nginx answers', async () => {
        if (!running) throw new Error(`nginx ended:\n${readFileSync(join(folder, 'error.log'), 'utf8')}`)
        const answer = await fetch(`http://127.0.0.1:${whoPort}`, { keepalive: false }).catch(() => undefined)
        return answer?.ok
      })
    },
  }
}

function put(text: string, instead: SiteOptions['instead'], times: number): string {
  return instead.reduce((whole, [shipped, here]) => {
    const parts = whole.split(shipped)
    if (parts.length !== times + 1) throw new Error(`"${shipped}" stands there ${parts.length - 1} times, not ${times}`)
    return parts.join(here)
  }, text)
}

function around(whoPort: number): string {
  return `daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  types { text/html html; text/css css; text/javascript js; image/svg+xml svg; }
  set_real_ip_from 127.0.0.1;
  real_ip_header X-Test-Address;
  include site.conf;
  server {
    listen 127.0.0.1:${whoPort};
    location / { return 200 $stampede_client; }
  }
}
`
}
