/**
 * Starts the parts of the cluster, restarts a part that dies, and stops all of them in reverse order. Each part is a child process; what it
 * writes is kept in a file of its own, and the end of it in memory, to show why it died.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'

type PartRole = 'redis' | 'kafka' | 'postgres' | 'nginx' | 'edge' | 'worker' | 'keeper' | 'prometheus'

export interface PartPlan {
  readonly name: string
  readonly role: PartRole
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Polled with the part's output so far. */
  readonly ready: (output: string) => Promise<boolean>
  /** The pause before a restart; 1.5 s by default. */
  readonly startAgainAfterMs?: number
  /** Redis Cluster only: the ranges of slots that this node serves now. */
  readonly slots?: () => readonly SlotRange[]
}

type SlotRange = readonly [from: number, to: number]

/** A part as the cluster file lists it. A pid can be reused; together with the start time it identifies the process. */
export interface Part {
  readonly name: string
  readonly role: PartRole
  readonly pid: number
  readonly startTicks: string
  readonly slots?: readonly SlotRange[]
}

interface Running {
  readonly plan: PartPlan
  readonly log: WriteStream
  child: ChildProcess
  output: string
}

const READY_MS_MAX = 120_000
const POLL_MS = 50
const START_AGAIN_AFTER_MS = 1_500
const STOP_MS_MAX = 15_000
const OUTPUT_MAX = 20_000

export class Supervisor {
  readonly #logs: string
  readonly #print: (line: string) => void
  readonly #changed: (parts: readonly Part[]) => void
  readonly #running = new Map<string, Running>()
  readonly #others: { readonly name: string; readonly role: PartRole; readonly pid: () => number | undefined }[] = []
  #stopping = false
  #reported = ''

  /** `logs`: the folder for what the parts write, a file for each, begun anew with every start of the cluster. */
  constructor(logs: string, print: (line: string) => void, changed: (parts: readonly Part[]) => void) {
    mkdirSync(logs, { recursive: true })
    this.#logs = logs
    this.#print = print
    this.#changed = changed
    void this.#watch()
  }

  /** A part that is not started here, to be listed with the others. */
  watchAlso(other: { readonly name: string; readonly role: PartRole; readonly pid: () => number | undefined }): void {
    this.#others.push(other)
  }

  /** Resolves when the part is ready. */
  async start(plan: PartPlan): Promise<void> {
    this.#print(`starting ${plan.name} …`)
    const running = this.#spawn(plan)
    await this.#ready(running)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const { child, plan } of [...this.#running.values()].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill(plan.role === 'nginx' ? 'SIGQUIT' : 'SIGTERM')
      const late = new AbortController()
      await Promise.race([ended, systemClock.sleep(STOP_MS_MAX, late.signal).then(() => child.kill('SIGKILL'))])
      late.abort()
      await ended
    }
    for (const { log } of this.#running.values()) log.end()
  }

  #spawn(plan: PartPlan): Running {
    const [program = '', ...args] = plan.command
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...plan.env },
    })
    // Restarted, it goes on in its file.
    const log =
      this.#running.get(plan.name)?.log ?? createWriteStream(join(this.#logs, `${plan.name}.log`), { flags: 'w' })
    const running: Running = { plan, log, child, output: '' }
    const collect = (chunk: Buffer) => {
      log.write(chunk)
      running.output = (running.output + chunk.toString('utf8')).slice(-OUTPUT_MAX)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.once('exit', (code, signal) => void this.#ended(running, signal ?? `code ${code}`))
    this.#running.set(plan.name, running)
    return running
  }

  async #ready(running: Running): Promise<void> {
    const { plan } = running
    const fromMs = systemClock.elapsed()
    while (!(await plan.ready(running.output))) {
      if (this.#stopping) return
      const { exitCode, signalCode } = running.child
      if (exitCode !== null || signalCode !== null || systemClock.elapsed() - fromMs > READY_MS_MAX)
        throw new Error(`${plan.name} did not become ready. The end of its output:\n${running.output.slice(-2_000)}`)
      await systemClock.sleep(POLL_MS)
    }
  }

  async #ended(running: Running, how: string): Promise<void> {
    const { plan } = running
    if (this.#stopping || this.#running.get(plan.name) !== running) return
    this.#print(`${plan.name} ended (${how}); restarting it`)
    await systemClock.sleep(plan.startAgainAfterMs ?? START_AGAIN_AFTER_MS)
    if (this.#stopping) return
    const next = this.#spawn(plan)
    await this.#ready(next).then(
      () => this.#print(`${plan.name} is ready again`),
      (error: unknown) => this.#print(String(error)),
    )
  }

  /** Reports the running parts whenever they have changed. */
  async #watch(): Promise<void> {
    while (!this.#stopping) {
      const parts = this.#parts()
      const text = JSON.stringify(parts)
      if (text !== this.#reported) this.#changed(parts)
      this.#reported = text
      await systemClock.sleep(POLL_MS)
    }
  }

  #parts(): Part[] {
    const own = [...this.#running.values()].map(({ plan, child }) => ({ ...plan, pid: child.pid }))
    const others = this.#others.map(({ name, role, pid }) => ({ name, role, pid: pid(), slots: undefined }))
    return [...others, ...own].flatMap(({ name, role, pid, slots }) => {
      const startTicks = pid === undefined ? undefined : startTicksOf(pid)
      if (pid === undefined || startTicks === undefined) return []
      return [{ name, role, pid, startTicks, ...(slots !== undefined && { slots: slots() }) }]
    })
  }
}

/** Field 22 of /proc/PID/stat, counted after the name, which may contain anything. */
function startTicksOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
