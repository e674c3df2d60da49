/**
 * Whom operators let in or keep out, as an edge asks it: by address, by buyer, by a claim of the shop's token. Denied is refused whatever
 * else is true; allowed is not counted by the limits and not asked for a challenge. Of two entries about one address the narrower wins; of equal
 * ones, and between address, buyer and claim, `deny`.
 *
 * In memory, replaced as a whole when the list has changed. Without entries a question costs one comparison. Does not know HTTP or the ledger.
 */

import type { Clock } from '../base/clock.ts'
import type { AccessEntry } from '../domain/access-entry.ts'
import { type BuyerId, isBuyerId } from '../domain/ids.ts'
import { AddressRanges } from './client-address.ts'
import { type HoldKeys, marksIn } from './hold-keys.ts'

type Access = AccessEntry['kind'] | undefined
type Claims = Readonly<Record<string, unknown>>

/** Addresses whose answer is remembered until the list changes. */
const REMEMBERED_MAX = 65_536

export class AccessLists {
  readonly #clock: Clock
  readonly #keys: Pick<HoldKeys, 'markOf'> | undefined
  #ranges = new AddressRanges<AccessEntry>()
  #named = new Map<string, AccessEntry[]>()
  #claims: readonly string[] = []
  /** Claims, as tickets carry them. */
  #marks = new Map<string, AccessEntry[]>()
  #byAddress = 0
  /** With the moment from which on it has to be judged anew. */
  readonly #remembered = new Map<string, { readonly access: Access; readonly untilMs: number }>()

  /** @param keys without them tickets carry no claims */
  constructor(clock: Clock, keys?: Pick<HoldKeys, 'markOf'>) {
    this.#clock = clock
    this.#keys = keys
  }

  /** Are claims asked about at all? Reading them costs something. */
  get knowsClaims(): boolean {
    return this.#claims.length > 0
  }

  /** The names of claims that there are entries for. */
  get claims(): readonly string[] {
    return this.#claims
  }

  replace(entries: readonly AccessEntry[]): void {
    this.#ranges = new AddressRanges()
    this.#named = new Map()
    this.#marks = new Map()
    this.#remembered.clear()
    this.#byAddress = 0
    for (const entry of entries) {
      if (entry.subject === 'address' || entry.subject === 'prefix') {
        this.#ranges.add(entry.value, entry)
        this.#byAddress += 1
        continue
      }
      const name = nameOf(entry.subject, entry.value)
      this.#named.set(name, [...(this.#named.get(name) ?? []), entry])
      const mark = entry.subject === 'claim' ? this.#markOf(entry.value) : undefined
      if (mark !== undefined) this.#marks.set(mark, [...(this.#marks.get(mark) ?? []), entry])
    }
    const claims = entries.filter(({ subject }) => subject === 'claim').map(({ value }) => value.split('=', 1)[0]!)
    this.#claims = [...new Set(claims)]
  }

  /** @param key as `client-address.ts` writes it */
  ofAddress(key: string): Access {
    if (this.#byAddress === 0) return undefined
    const nowMs = this.#clock.now()
    const known = this.#remembered.get(key)
    if (known !== undefined && nowMs < known.untilMs) return known.access
    const around = this.#ranges.around(key)
    const live = around.map(entries => entries.filter(one => isLive(one, nowMs))).find(entries => entries.length > 0)
    const access = live && judge(live)
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear()
    this.#remembered.set(key, { access, untilMs: Math.min(...around.flat().map(one => endOf(one, nowMs)), Infinity) })
    return access
  }

  ofBuyer(buyer: BuyerId): Access {
    return this.#named.size === 0 ? undefined : this.#ofName('buyer', buyer)
  }

  /** Of the buyer that a verified ticket names, and of the claims that it carries. */
  ofTicket({ buyer, marks }: { readonly buyer: BuyerId; readonly marks?: string | undefined }): Access {
    const ofBuyer = this.ofBuyer(buyer)
    if (this.#marks.size === 0 || marks === undefined || ofBuyer === 'deny') return ofBuyer
    const nowMs = this.#clock.now()
    const found = marksIn(marks).flatMap(({ mark }) => this.#marks.get(mark)?.filter(one => isLive(one, nowMs)) ?? [])
    return judge(found) ?? ofBuyer
  }

  /** @param claims of a verified token */
  ofClaims(claims: Claims): Access {
    const found = this.#claims.map(name => this.#ofName('claim', `${name}=${String(claims[name])}`))
    return found.find(access => access === 'deny') ?? found.find(access => access === 'allow')
  }

  #markOf(value: string): string | undefined {
    const at = value.indexOf('=')
    return this.#keys?.markOf(value.slice(0, at), value.slice(at + 1))
  }

  #ofName(subject: 'buyer' | 'claim', value: string): Access {
    const nowMs = this.#clock.now()
    return judge(this.#named.get(nameOf(subject, value))?.filter(one => isLive(one, nowMs)) ?? [])
  }
}

/** What is wrong with an entry's value; undefined: nothing. */
export function checkAccessValue(subject: AccessEntry['subject'], value: string): string | undefined {
  if (subject === 'buyer') return isBuyerId(value) ? undefined : 'is not a buyer id'
  if (subject === 'claim') return /^[^=\s]{1,64}=./.test(value) ? undefined : 'is not a claim: write name=value'
  if (subject === 'address' && value.includes('/')) return 'is a range: its subject is prefix'
  try {
    new AddressRanges().add(value, undefined)
    return undefined
  } catch {
    return subject === 'address' ? 'is not an IP address' : 'is not a range of addresses like 203.0.113.0/24'
  }
}

function nameOf(subject: AccessEntry['subject'], value: string): string {
  return `${subject}\n${value}`
}

function isLive({ untilMs }: AccessEntry, nowMs: number): boolean {
  return untilMs === undefined || nowMs < untilMs
}

/** When this entry changes an answer next. */
function endOf({ untilMs }: AccessEntry, nowMs: number): number {
  return untilMs === undefined || untilMs <= nowMs ? Number.POSITIVE_INFINITY : untilMs
}

function judge(entries: readonly AccessEntry[]): Access {
  return entries.some(({ kind }) => kind === 'deny') ? 'deny' : entries[0]?.kind
}
