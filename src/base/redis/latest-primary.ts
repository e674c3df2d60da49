/**
 * The primary, from the sentinels' answers. The latest failover counts: a sentinel that was cut off goes on naming the old one. So does the
 * one that leads a failover, already under the new epoch, until it is done: its answer counts less than another of that epoch.
 */

import type { HostPort } from './redis-url.ts'

/** Out of the answers to `SENTINEL MASTER`; undefined when none of them names a server. */
export function latestPrimary(answers: readonly unknown[]): HostPort | undefined {
  let best: { readonly where: HostPort; readonly rank: number } | undefined
  for (const answer of answers) {
    if (answer instanceof Error) continue
    const fields = fieldsOf(answer)
    const where = { host: fields.get('ip') ?? '', port: Number(fields.get('port')) }
    const underWay = fields.get('flags')?.split(',').includes('failover_in_progress') === true
    const rank = Number(fields.get('config-epoch') ?? 0) - (underWay ? 0.5 : 0)
    if (where.host !== '' && where.port > 0 && (best === undefined || rank > best.rank)) best = { where, rank }
  }
  return best?.where
}

/** A map, or a list of names and values, as the protocol's version has it. */
function fieldsOf(reply: unknown): ReadonlyMap<string, string> {
  const list: readonly unknown[] = Array.isArray(reply) ? reply : Object.entries(reply ?? {}).flat()
  const fields = new Map<string, string>()
  for (let i = 0; i + 1 < list.length; i += 2) fields.set(String(list[i]), String(list[i + 1]))
  return fields
}
