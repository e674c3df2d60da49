/**
 * What a buyer was answered on joining: number, proof, salt, head. Kept on this device as it was first seen, so that a record that is published later can be
 * checked against it, and a server that answers another head than before is noticed.
 */

import type { Join } from '../shapes.ts'

interface Receipt {
  readonly number: number
  readonly proof: string
  readonly salt: string
  readonly head: string
}

/** Where the browser stores nothing, the receipts of this page. */
const memory = new Map<string, string>()

export function keepReceipt(sale: string, buyer: string, { number, proof, salt, head }: Join): void {
  const key = keyOf(sale, buyer, number)
  if (read(key) !== undefined) return
  const text = JSON.stringify({ number, proof, salt, head } satisfies Receipt)
  memory.set(key, text)
  try {
    localStorage.setItem(key, text)
  } catch {}
}

/** `false`: the server answers something else than when the buyer joined. */
export function fitsReceipt(sale: string, buyer: string, { number, proof, salt, head }: Join): boolean {
  const kept = read(keyOf(sale, buyer, number))
  if (kept === undefined) return true
  return kept.proof === proof && kept.salt === salt && kept.head === head
}

/** As a file that `stampede draw verify --receipt` takes. */
export function saveReceipt(sale: string, buyer: string, join: Join): void {
  const { number, proof, salt, head } = read(keyOf(sale, buyer, join.number)) ?? join
  const text = JSON.stringify({ sale, buyer, number, proof, salt, head }, null, 2)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = `line-${sale}-${number}.json`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const keyOf = (sale: string, buyer: string, number: number) => `stampede.receipt.${buyer}\n${sale}\n${number}`

function read(key: string): Receipt | undefined {
  try {
    const text = memory.get(key) ?? localStorage.getItem(key)
    return text === null ? undefined : (JSON.parse(text) as Receipt)
  } catch {
    return undefined
  }
}
