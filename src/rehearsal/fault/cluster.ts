/**
 * A cluster on this machine, and killing one of its processes. Its file has its address, its secrets and its processes; the supervisor
 * writes it, and rewrites it whenever it restarts a part. The system reuses pids, so a process is killed only if its start time is the one
 * in the file. Between this check and the signal the process could end and its pid be reused: microseconds, and the system hands out all
 * other pids first. Errors are messages for the person at the command line.
 */

import { readFileSync } from 'node:fs'
import { z } from 'zod'

export const FAULTS = ['redis', 'worker', 'edge', 'keeper', 'postgres'] as const
export type FaultRole = (typeof FAULTS)[number]

const partSchema = z
  .object({
    name: z.string().min(1).max(64),
    role: z.enum(['redis', 'kafka', 'postgres', 'nginx', 'edge', 'worker', 'keeper', 'prometheus']),
    // Pids of 0 and below address process groups, 1 is init.
    pid: z.int().min(2),
    /** Clock ticks from boot to the start of the process: together with the pid it identifies the process. */
    startTicks: z.string().regex(/^[0-9]{1,20}$/),
    /** Redis Cluster only: ranges of slots that this node serves; a replica serves none. */
    slots: z
      .array(z.tuple([z.int().min(0), z.int().min(0)]).readonly())
      .readonly()
      .optional(),
  })
  .readonly()

const clusterSchema = z
  .object({
    url: z.url({ protocol: /^https?$/ }),
    adminToken: z.string().min(1),
    buyerSecret: z.string().min(1),
    parts: z.array(partSchema).max(1_000).readonly(),
  })
  .readonly()

export type ClusterPart = z.infer<typeof partSchema>
export type Cluster = z.infer<typeof clusterSchema>

export function readClusterFile(path: string): Cluster {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'ENOENT')
      throw new Error(`there is no ${path}: start a cluster on this machine with "npm run cluster", or name its file`)
    throw new Error(`${path} can not be read (${code}): run this as the account that started the cluster`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`${path} is not the file of a cluster: it is not JSON`)
  }
  const parsed = clusterSchema.safeParse(value)
  if (parsed.success) return parsed.data
  // The path only, never the value: the file contains secrets.
  const where = parsed.error.issues[0]?.path.join('.') || 'the whole file'
  throw new Error(`${path} is not the file of a cluster: ${where} is missing or wrong`)
}

/**
 * Signals the first running part of this role and returns it: of several keepers, the one started first most likely holds the leader lock. Of
 * a Redis Cluster, the node that serves most of `slots`, or at least some slot: a killed replica would change nothing. Signal 0 only checks
 * that it could be killed.
 */
export function signalPart(
  signal: 0 | 'SIGKILL',
  path: string,
  role: FaultRole,
  slots: readonly number[] = [],
  kill: (pid: number, signal: 0 | 'SIGKILL') => void = process.kill,
): ClusterPart {
  const parts = readClusterFile(path).parts.filter(part => part.role === role)
  if (parts.length === 0) throw new Error(`there is no ${role} in the cluster of ${path}`)
  const [victim] = parts
    .filter(part => part.pid !== process.pid && startTicksOf(part.pid) === part.startTicks)
    .toSorted((a, b) => weight(b, slots) - weight(a, slots))
  if (victim === undefined) {
    const names = parts.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')
    throw new Error(`${names} does not run any more: is the cluster of ${path} still up?`)
  }
  const { name, pid } = victim
  try {
    kill(pid, signal)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EPERM')
      throw new Error(`not allowed to kill ${name} (pid ${pid}): run this as the account that started the cluster`)
    throw new Error(`${name} (pid ${pid}) could not be killed: ${code ?? String(error)}`)
  }
  return victim
}

/** Undefined when no process runs under this pid. */
function startTicksOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in parentheses and may contain spaces and parentheses: count from the last one.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

function weight({ slots: served = [] }: ClusterPart, wanted: readonly number[]): number {
  const serves = (slot: number) => served.some(([from, to]) => slot >= from && slot <= to)
  return (served.length > 0 ? 1 : 0) + wanted.filter(serves).length
}
