/**
 * A real Prometheus and a real Alertmanager that watch the processes of a test, with the rules that are shipped and all their times made
 * shorter. Alertmanager sends what begins and ends to a receiver in the test, as it would send it to a pager.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { scaledRules } from './alert-rules.ts'
import { freePort } from './free-port.ts'
import type { Playground } from './playground.ts'
import { until } from './until.ts'

const SCRAPE_EVERY_MS = 500

interface MonitorOptions {
  /** Every window and every `for` of the rules is divided by this. */
  readonly scale: number
  /** The ports of the processes' metrics, by their names. */
  readonly targets: Readonly<Record<string, number>>
}

type State = 'firing' | 'resolved'

interface Notice {
  readonly alert: string
  readonly state: State
  readonly labels: Readonly<Record<string, string>>
  readonly summary: string
}

export class AlertMonitor {
  /** All that was sent to the pager, in its order. */
  readonly notices: Notice[] = []
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
  }

  static async start(playground: Playground, { scale, targets }: MonitorOptions): Promise<AlertMonitor> {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-watch-'))
    playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
    const [port, pagerPort] = [await freePort(), await freePort()]
    const monitor = new AlertMonitor(`http://127.0.0.1:${port}`)
    const receiver = await monitor.#receive(playground)

    const rules = join(folder, 'rules.yml')
    writeFileSync(rules, scaledRules(scale))
    const config = join(folder, 'prometheus.json')
    const every = `${SCRAPE_EVERY_MS}ms`
    const static_configs = Object.entries(targets).map(([name, of]) => ({
      targets: [`127.0.0.1:${of}`],
      labels: { process: name },
    }))
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
        rule_files: [rules],
        alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${pagerPort}`] }] }] },
        scrape_configs: [{ job_name: 'stampede', static_configs }],
      }),
    )
    const pager = join(folder, 'alertmanager.json')
    writeFileSync(
      pager,
      JSON.stringify({
        route: {
          receiver: 'test',
          group_by: ['...'],
          group_wait: '1ms',
          group_interval: '100ms',
          repeat_interval: '1h',
        },
        receivers: [{ name: 'test', webhook_configs: [{ url: receiver, send_resolved: true }] }],
      }),
    )
    run(playground, '/usr/bin/prometheus-alertmanager', [
      `--config.file=${pager}`,
      `--storage.path=${join(folder, 'pager')}`,
      `--web.listen-address=127.0.0.1:${pagerPort}`,
      '--cluster.listen-address=',
      '--log.level=error',
    ])
    run(playground, '/usr/bin/prometheus', [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'series')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ])
    const count = Object.keys(targets).length
    await until('Prometheus has read every process', async () => {
      const [sample] = await monitor.query('count(up == 1)').catch(() => [])
      return sample?.value === count
    })
    await until('Alertmanager is ready', () =>
      fetch(`http://127.0.0.1:${pagerPort}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    return monitor
  }

  /** What Prometheus answers to a query, now. */
  async query(
    text: string,
  ): Promise<readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]> {
    const response = await fetch(`${this.#url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: text }),
    })
    const { status, error, data } = (await response.json()) as {
      status: string
      error?: string
      data: { result: { metric: Record<string, string>; value: [number, string] }[] }
    }
    if (status !== 'success') throw new Error(`${text}: ${error}`)
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }

  /** Alerts that are raised now, by Prometheus. */
  async firing(): Promise<readonly string[]> {
    const raised = await this.query('count by (alertname) (ALERTS{alertstate="firing"})')
    return raised.map(({ labels }) => labels.alertname ?? '').toSorted()
  }

  /** Alerts of which the pager heard this, each once. */
  heard(state: State): readonly string[] {
    return [...new Set(this.notices.filter(one => one.state === state).map(one => one.alert))].toSorted()
  }

  async #receive(playground: Playground): Promise<string> {
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => void chunks.push(chunk))
      request.on('end', () => {
        const { alerts } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
          alerts: { status: State; labels: Record<string, string>; annotations: Record<string, string> }[]
        }
        for (const { status, labels, annotations } of alerts)
          this.notices.push({
            alert: labels.alertname ?? '',
            state: status,
            labels,
            summary: annotations.summary ?? '',
          })
        response.end()
      })
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    playground.onUndo(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }
}

/** Its output is shown when it ends by itself. */
function run(playground: Playground, program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const hear = (chunk: Buffer) => {
    output += chunk.toString('utf8')
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = childEnd(child)
  let undone = false
  void ended.then(({ code }) => {
    if (!undone) process.stderr.write(`${program} ended with code ${code}:\n${output}\n`)
  })
  playground.onUndo(async () => {
    undone = true
    child.kill('SIGKILL')
    await ended
  })
  return child
}
