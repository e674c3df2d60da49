/** nginx in front of the edges: keeps connections open on both sides, forwards the buyer's address, supports WebSockets. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Idempotent calls of buyers. */
const REPEATABLE = '^/api/(sales/[0-9]+/items/[0-9]+/(ticket|orders)|orders/[0-9]+/(cancel|payment))$'

export function writeNginxFiles(prefix: string, port: number, edgePorts: readonly number[]) {
  mkdirSync(join(prefix, 'temp'), { recursive: true })
  const config = join(prefix, 'nginx.conf')
  writeFileSync(config, nginxConfig(prefix, port, edgePorts))
  return { prefix, config }
}

function nginxConfig(prefix: string, port: number, edgePorts: readonly number[]): string {
  const temp = (name: string) => `${name}_temp_path "${join(prefix, 'temp', name)}";`
  const edges = edgePorts.map(edge => `    server 127.0.0.1:${edge} max_fails=1 fail_timeout=1s;`).join('\n')
  return `worker_processes 1;
pid "${join(prefix, 'nginx.pid')}";
worker_rlimit_nofile 20000;
events { worker_connections 9000; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(temp).join('\n  ')}
  keepalive_requests 1000000;
  client_max_body_size 64k;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream edges {
${edges}
    # As many as a large rehearsal has at once: what is not kept is opened anew for the next click, faster than an edge takes it in.
    keepalive 4096;
    # Shorter than the edges' own idle time: nothing is sent into a connection that is just being closed.
    keepalive_timeout 20s;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Connection $connection_upgrade;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_connect_timeout 2s;
    proxy_read_timeout 75s;
    proxy_next_upstream_tries 2;
    # The same ticket twice is the same order: what buyers send may be sent again to another edge when the first has gone away.
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
