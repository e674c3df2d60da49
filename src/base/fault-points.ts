/**
 * Named points in the code where tests make a process die, stop or wait. Free when off: one read of a module variable.
 *
 * A spec is `name=action` pairs, comma separated: `kill` (SIGKILL to itself), `stop` (SIGSTOP), `delay:MS`, `fail` (throws a
 * retryable fault with an unknown outcome); `@N` acts on the N-th passage only (default: the first), `@*` on each.
 * Example: `place.before=kill@3,answer.before=delay:50@*`. Every point is listed in `FAULT_POINTS`: an unknown name is refused.
 */

import { systemClock } from './clock.ts'
import { Fault } from './fault.ts'

const FAULT_POINTS = {
  reserve: ['before', 'after'],
  place: ['before', 'after'],
  answer: ['before'],
  close: ['before', 'after'],
  release: ['before', 'done'],
  pay: ['before', 'after'],
  payment: ['recorded', 'begun'],
  refund: ['before', 'sent'],
  change: ['asked', 'taken'],
  move: ['asked', 'taken', 'journalled', 'given', 'done'],
  reconcile: ['found', 'repaired'],
  rebuild: ['bumped', 'fenced', 'drained', 'loaded', 'snapshot', 'activated'],
  door: ['turned'],
  outbox: ['take', 'done'],
  relay: ['before', 'sent'],
  consume: ['deleted', 'committed'],
  handover: ['before', 'after'],
  gate: ['clock'],
  parcel: ['before'],
  archive: ['before', 'after'],
  retention: ['sale', 'rows'],
  events: ['before', 'numbered', 'copied'],
  pages: ['before', 'put'],
  line: ['before', 'after'],
  letin: ['before', 'after'],
  draw: ['opened', 'seal', 'sealed', 'beacon', 'before', 'after'],
  webhook: ['queued', 'before', 'sent', 'settled'],
} as const

type Points = typeof FAULT_POINTS
type FaultPoint = { [K in keyof Points]: `${K}.${Points[K][number]}` }[keyof Points]

const NAMES = new Set(Object.entries(FAULT_POINTS).flatMap(([what, when]) => when.map(one => `${what}.${one}`)))

type Action = { kind: 'kill' | 'stop' | 'fail' } | { kind: 'delay'; ms: number }
type Armed = { action: Action; on: number | 'each'; passed: number }

let armed: Map<string, Armed> | undefined

/** Changes what the whole process does from now on; an empty spec disarms every point. */
export function armFaultPoints(spec: string): void {
  armed = spec === '' ? undefined : parseFaultPoints(spec)
}

/** Throws what is wrong with the spec. */
export function parseFaultPoints(spec: string): Map<string, Armed> {
  const points = new Map<string, Armed>()
  for (const part of spec.split(',')) {
    const match = /^([a-z.-]+)=(kill|stop|fail|delay:(\d{1,6}))(?:@(\*|\d{1,9}))?$/.exec(part.trim())
    if (!match) throw new Error(`fault point "${part}" is not name=kill|stop|fail|delay:MS[@N|@*]`)
    const [, name, kind, ms, on] = match
    if (!NAMES.has(name!)) throw new Error(`there is no fault point "${name}"`)
    const action: Action =
      ms === undefined ? { kind: kind as 'kill' | 'stop' | 'fail' } : { kind: 'delay', ms: Number(ms) }
    points.set(name!, { action, on: on === '*' ? 'each' : Number(on ?? 1), passed: 0 })
  }
  return points
}

/** Passing a point costs nothing unless a test armed it: callers write `const p = faultPoint(…); if (p) await p`. */
export function faultPoint(name: FaultPoint): Promise<void> | undefined {
  if (armed === undefined) return undefined
  const point = armed.get(name)
  if (point === undefined) return undefined
  point.passed += 1
  if (point.on !== 'each' && point.on !== point.passed) return undefined
  return act(name, point.action)
}

/** The milliseconds a test gave to this point, for what it moves and does not delay; 0 when it gave none. */
export function faultPointMs(name: FaultPoint): number {
  const action = armed?.get(name)?.action
  return action?.kind === 'delay' ? action.ms : 0
}

async function act(name: string, action: Action): Promise<void> {
  switch (action.kind) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => {})
    case 'stop':
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'fail':
      throw new Fault('fault_point', `fault point ${name}`, { retryable: true, outcomeUnknown: true })
    case 'delay':
      await systemClock.sleep(action.ms)
  }
}
