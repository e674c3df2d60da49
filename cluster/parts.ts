/** How each part of the cluster is started, and when it is ready. */

import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULES } from '../test/harness/alert-rules.ts'
import { listens } from '../test/harness/listens.ts'
import { PROGRAM } from '../test/harness/program.ts'
import { JAVA, type KafkaProgram } from '../test/kafka/program.ts'
import { brokerProperties } from '../test/kafka/properties.ts'
import type { PartPlan } from './supervisor.ts'

const READY = /^stampede (ready|stands by) on /m

/** Lines of redis.conf that every Redis server gets. */
const REDIS_CONFIG = ['appendonly yes', 'save ""', 'maxmemory-policy noeviction', 'bind 127.0.0.1']

export function redisPart(name: string, dir: string, port: number, config: readonly string[]): PartPlan {
  mkdirSync(dir, { recursive: true })
  const args = [...REDIS_CONFIG, ...config].flatMap(line => {
    const [setting = '', ...value] = line.split(' ')
    return [`--${setting}`, value.join(' ').replaceAll('"', '')]
  })
  return {
    name,
    role: 'redis',
    command: ['/usr/bin/redis-server', '--dir', dir, '--port', String(port), ...args],
    env: {},
    ready: () => listens(port),
  }
}

export function kafkaPart(program: KafkaProgram, dir: string, port: number, controllerPort: number): PartPlan {
  const logs = join(dir, 'data')
  if (!existsSync(logs)) cpSync(program.formatted, logs, { recursive: true })
  const properties = join(dir, 'broker.properties')
  writeFileSync(properties, brokerProperties({ port, controllerPort, dir: logs }))
  return {
    name: 'kafka',
    role: 'kafka',
    command: [JAVA, ...program.java, 'kafka.Kafka', properties],
    env: {},
    ready: () => listens(port),
  }
}

export function stampedePart(
  name: string,
  role: 'edge' | 'worker' | 'keeper',
  env: Readonly<Record<string, string>>,
): PartPlan {
  return {
    name,
    role,
    command: [process.execPath, PROGRAM, 'serve'],
    env: { HOST: '127.0.0.1', ...env },
    ready: async output => READY.test(output),
  }
}

/** With the rules that are shipped; without an Alertmanager, its own page shows what is raised. */
export function prometheusPart(dir: string, port: number, targets: Readonly<Record<string, number>>): PartPlan {
  mkdirSync(dir, { recursive: true })
  const config = join(dir, 'prometheus.json')
  const static_configs = Object.entries(targets).map(([name, of]) => ({
    targets: [`127.0.0.1:${of}`],
    labels: { process: name },
  }))
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [{ job_name: 'stampede', static_configs }],
    }),
  )
  return {
    name: 'prometheus',
    role: 'prometheus',
    command: [
      '/usr/bin/prometheus',
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, 'series')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    env: {},
    ready: () => listens(port),
  }
}

export function nginxPart(files: { readonly prefix: string; readonly config: string }, port: number): PartPlan {
  const { prefix, config } = files
  return {
    name: 'nginx',
    role: 'nginx',
    command: ['/usr/sbin/nginx', '-p', prefix, '-c', config, '-e', 'stderr', '-g', 'daemon off;'],
    env: {},
    ready: () => listens(port),
  }
}
