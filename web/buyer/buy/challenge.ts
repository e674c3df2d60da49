/**
 * Solves the challenge that stands before a ticket, in workers: the page stays responsive, and the countdown goes on. Undefined: it can't be
 * solved here (a browser without workers, a page without HTTPS), and the caller shows the refusal.
 */

import { solverAddress } from '../later-files.ts'

/** Of a phone's cores, one or two are left to the page. */
const WORKERS_MAX = 4

export async function solveChallenge(challenge: unknown): Promise<unknown> {
  const count = Math.max(1, Math.min(WORKERS_MAX, (navigator.hardwareConcurrency ?? 2) - 1))
  const workers: Worker[] = []
  try {
    const solution = await new Promise((resolve, reject) => {
      for (let start = 0; start < count; start++) {
        const worker = new Worker(scriptAddress(solverAddress()), { type: 'module' })
        workers.push(worker)
        worker.onmessage = ({ data }) => resolve(data)
        worker.onerror = reject
        worker.postMessage({ challenge, start, step: count })
      }
    })
    return solution === null ? undefined : { challenge, solution }
  } catch {
    return undefined
  } finally {
    for (const worker of workers) worker.terminate()
  }
}

interface Policy {
  createScriptURL(address: string): string
}
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy
}

let policy: Policy | undefined

/** The page's policy lets no plain text become a script's address. This one is written into the page's own script. */
function scriptAddress(address: string): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }
  policy ??= trustedTypes?.createPolicy('later-files', { createScriptURL: text => text })
  return policy?.createScriptURL(address) ?? address
}
