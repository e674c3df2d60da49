/**
 * Solves the challenge that stands before a ticket: a proof of work in workers, so that the page stays responsive and the countdown goes on; or
 * a provider's widget, shown to the buyer. Undefined: it can't be solved here (a browser without workers, a page without HTTPS, a widget that
 * failed), and the caller shows the refusal.
 */

import { loadWidget, solverAddress } from '../later-files.ts'
import { words } from '../words.ts'

/** Of a phone's cores, one or two are left to the page. */
const WORKERS_MAX = 4

/** @param refusal the body of `challenge_required` */
export function solveChallenge(refusal: Readonly<Record<string, unknown>>): Promise<unknown> {
  return refusal.challengeKind === 'provider' ? showWidget(refusal.challenge) : work(refusal.challenge)
}

async function showWidget(terms: unknown): Promise<unknown> {
  try {
    const { askWidget } = await loadWidget()
    const token = await askWidget(terms, { title: words().check, note: words().checkNote })
    return token === undefined ? undefined : { token }
  } catch {
    return undefined
  }
}

async function work(challenge: unknown): Promise<unknown> {
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
