/**
 * The file that describes a cluster on this machine: its address, its secrets and its processes. The supervisor writes it, and rewrites it
 * whenever it restarts a part. Errors are messages for the person at the command line.
 */

import { readFileSync } from 'node:fs'
import { z } from 'zod'

const partSchema = z
  .object({
    name: z.string().min(1).max(64),
    role: z.enum(['redis', 'postgres', 'nginx', 'edge', 'worker', 'keeper']),
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
