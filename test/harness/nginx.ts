/**
 * A real nginx before several edges, as a shop would run it: one worker, connections to the edges kept open, WebSockets passed on,
 * X-Forwarded-For. A request that reached an edge is sent to another one only if its method is idempotent, or if it is a buyer's call
 * that has one effect however often it arrives; one whose edge could not be reached always is. The list of edges can be changed while it runs, without losing a request (new settings, then SIGHUP).
 * It listens on loopback, on a port of its own, writes only into its own folder, and is gone when the playground is undone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { childrenOf } from './postgres-process.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/nginx'
const HOST = '127.0.0.1'
const PORTS_TRIED_MAX = 5
const READY_MS_MAX = 120_000
/** Says which settings are in force: nothing of the edges is behind it. */
const GENERATION_PATH = '/.nginx/generation'

/** Calls of buyers that have one effect however often they arrive. */
const REPEATABLE = '^/api/(sales/[0-9]+/items/[0-9]+/(ticket|orders)|orders/[0-9]+/(cancel|payment))$'

/** Where an edge listens: `host:port`, or the port on loopback. */
type Upstream = number | string

class Nginx {
  readonly port: number
  readonly url: string
  readonly #folder: string
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #generation = 0

  constructor(port: number, folder: string) {
    this.port = port
    this.url = `http://${HOST}:${port}`
    this.#folder = folder
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('this nginx does not run')
    return this.#child.pid
  }

  /** What it had to complain about. */
  errors(): string {
    try {
      return readFileSync(join(this.#folder, 'error.log'), 'utf8')
    } catch {
      return ''
    }
  }

  async start(upstreams: readonly Upstream[]): Promise<void> {
    this.#write(upstreams)
    const args = ['-p', this.#folder, '-c', 'nginx.conf', '-e', 'error.log']
    const child = spawn(PROGRAM, args, { stdio: 'ignore' })
    this.#child = child
    this.#ended = new Promise(resolve => {
      const over = () => {
        this.#child = undefined
        resolve()
      }
      child.once('error', over)
      child.once('exit', over)
    })
    await this.#inForce()
  }

  /** From now on requests go to these. Returns when they do; what was under way goes on where it is. */
  async lead(upstreams: readonly Upstream[]): Promise<void> {
    this.#write(upstreams)
    process.kill(this.pid, 'SIGHUP')
    await this.#inForce()
  }

  /** Returns when no worker with older settings is left: nobody talks to an edge that was taken off the list any more. */
  async settled(): Promise<void> {
    await until('the end of older workers of nginx', () => childrenOf(this.pid).length <= 1)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    // SIGTERM to the master ends its workers at once; SIGKILL would leave them.
    child.kill('SIGTERM')
    await this.#ended
  }

  #write(upstreams: readonly Upstream[]): void {
    this.#generation += 1
    writeFileSync(
      join(this.#folder, 'nginx.conf'),
      configuration(this.port, `${this.#folder} ${this.#generation}`, upstreams),
    )
  }

  async #inForce(): Promise<void> {
    // With its folder: another's nginx on this port would answer too.
    const wanted = `${this.#folder} ${this.#generation}`
    await until(
      `nginx on port ${this.port} with its settings number ${this.#generation}`,
      async () => {
        if (this.#child === undefined) throw new Error(`nginx ended while it was started:\n${this.errors()}`)
        const answer = await fetch(`${this.url}${GENERATION_PATH}`, { keepalive: false }).catch(() => undefined)
        return answer !== undefined && (await answer.text()) === wanted
      },
      READY_MS_MAX,
    )
  }
}

export async function startNginx(playground: Playground, upstreams: readonly Upstream[]): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-nginx-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  for (let tried = 1; ; tried++) {
    const nginx = new Nginx(await freePort(), folder)
    playground.onUndo(() => nginx.kill())
    try {
      await nginx.start(upstreams)
      return nginx
    } catch (error) {
      if (!nginx.errors().includes('Address already in use') || tried === PORTS_TRIED_MAX) throw error
    }
  }
}

function configuration(port: number, generation: string, upstreams: readonly Upstream[]): string {
  const servers = upstreams.map(one => `server ${typeof one === 'number' ? `${HOST}:${one}` : one} max_fails=0;`)
  return `daemon off;
worker_processes 1;
worker_shutdown_timeout 10s;
worker_rlimit_nofile 65536;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 16384; }
http {
  access_log off;
  server_tokens off;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  map $http_upgrade $connection_wanted { default upgrade; '' ''; }
  upstream edges {
    ${servers.length > 0 ? servers.join('\n    ') : `server ${HOST}:1 down;`}
    keepalive 256;
    keepalive_timeout 20s;
    keepalive_requests 1000000;
  }
  server {
    listen ${HOST}:${port} backlog=16384;
    location = ${GENERATION_PATH} { keepalive_timeout 0; return 200 '${generation}'; }
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_wanted;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_connect_timeout 1s;
    proxy_read_timeout 60s;
    proxy_buffering off;
    proxy_next_upstream_tries ${Math.max(2, servers.length)};
    # The same ticket twice is the same order: what buyers send may be sent again to another edge.
    location ~ ${REPEATABLE} {
      proxy_next_upstream error timeout non_idempotent;
      proxy_pass http://edges;
    }
    location / {
      proxy_next_upstream error timeout;
      proxy_pass http://edges;
    }
  }
}
`
}
