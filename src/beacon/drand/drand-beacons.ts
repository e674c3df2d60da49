/**
 * Rounds of drand over HTTP: `GET {host}/{chain}/public/{round}`. The hosts are asked one after the other, each within a time limit, beginning with the one
 * that answered last; the first answer whose signature is right wins. A host is not trusted: it can withhold a round, not forge one.
 * The signature is checked in a thread of its own, because that takes part of a second, and buyers are served meanwhile.
 */

import { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { QUICKNET } from '../../domain/draw/drand-rounds.ts'
import type { Beacons, BeaconValue } from '../beacon.ts'

const ANSWER_MS_MAX = 3_000
const CHECK_MS_MAX = 20_000
const BYTES_MAX = 4_096

interface DrandOptions {
  /** Their addresses, without a slash at the end. */
  readonly hosts: readonly string[]
  readonly clock: Clock
}

export function createDrandBeacons({ hosts, clock }: DrandOptions): Beacons {
  let first = 0
  return {
    async fetch(round) {
      const failed: string[] = []
      for (let i = 0; i < hosts.length; i++) {
        const at = (first + i) % hosts.length
        const host = hosts[at]!
        try {
          const signature = await signatureOf(clock, `${host}/${QUICKNET.chain}/public/${round}`, round)
          const value = await checkInThread(clock, round, signature)
          if (value === undefined) throw new Error('the signature is wrong')
          first = at
          return { value, signature } satisfies BeaconValue
        } catch (error) {
          failed.push(`${new URL(host).host}: ${(error as Error).message.slice(0, 100)}`)
        }
      }
      throw new Fault('beacon_missing', `no host has round ${round} of drand (${failed.join('; ')})`, {
        retryable: true,
      })
    },
  }
}

function signatureOf(clock: Clock, url: string, round: number): Promise<string> {
  return withDeadline(clock, ANSWER_MS_MAX, async signal => {
    try {
      const response = await fetch(url, { redirect: 'error', signal })
      if (!response.ok) throw new Error(`answered ${response.status}`)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        size += chunk.byteLength
        if (size > BYTES_MAX) throw new Error(`answered more than ${BYTES_MAX} bytes`)
        chunks.push(chunk)
      }
      const answer = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        round?: unknown
        signature?: unknown
      } | null
      if (answer?.round !== round || typeof answer.signature !== 'string') throw new Error('answered something else')
      return answer.signature
    } catch (error) {
      throw signal.aborted ? new Error(`no answer within ${ANSWER_MS_MAX} ms`) : error
    }
  })
}

/** Undefined: it is not the signature of this round. */
function checkInThread(clock: Clock, round: number, signature: string): Promise<string | undefined> {
  return withDeadline(clock, CHECK_MS_MAX, async signal => {
    const thread = new Worker(new URL('./check-round.ts', import.meta.url), { workerData: { round, signature } })
    try {
      return await new Promise<string | undefined>((resolve, reject) => {
        thread.once('message', ({ value }: { value: string | null }) => resolve(value ?? undefined))
        thread.once('error', reject)
        signal.addEventListener('abort', () => reject(new Error('the signature could not be checked in time')))
      })
    } finally {
      await thread.terminate()
    }
  })
}
