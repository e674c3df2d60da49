/**
 * Who comes to the sale. Honest buyers: a phone number and mostly an address each, and an office of up to 300 behind one address. The adversary:
 * accounts from 20 prefixes of ten addresses, registered with 25 accounts to a phone number, in five roles.
 */

import { SignJWT } from 'jose'
import { BUYER_JWT_SECRET } from '../../test/harness/stampede.ts'

/**
 * fast     presses at the first millisecond and again whenever a unit returns, and pays    early   collects tickets as early as it can, calls before
 *          the opening, then as `fast`    sharer   orders with tickets that were fetched from another network    holder   orders, and never pays
 */
type Role = 'honest' | 'fast' | 'early' | 'sharer' | 'holder'

export interface Buyer {
  readonly id: string
  readonly role: Role
  /** Where the ticket is fetched from. */
  readonly address: string
  /** Where the order is sent from. */
  readonly ordersFrom: string
  readonly token: string
}

export interface Plan {
  readonly honest: number
  readonly office: number
  readonly accounts: number
  readonly units: number
  /** Every wait of a real sale is shortened: tickets are given out for so long where they are late, and this is the time to pay. */
  readonly ticketsForS: number
  readonly payWithinS: number
}

const PREFIXES = 20
const ADDRESSES_PER_PREFIX = 10
const ACCOUNTS_PER_PHONE = 25
const OFFICE = '203.0.113.9'
/** Of ten accounts. */
const ROLES: readonly Role[] = [
  'fast',
  'holder',
  'early',
  'sharer',
  'fast',
  'holder',
  'early',
  'sharer',
  'fast',
  'holder',
]

export async function makePopulation({ honest, office, accounts }: Plan) {
  return {
    honest: await Promise.all(
      Array.from({ length: honest }, (_, i) => {
        const address = i < office ? OFFICE : `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`
        return buyer(`honest-${i}`, 'honest', address, address, `phone-${i}`)
      }),
    ),
    adversary: await Promise.all(
      Array.from({ length: accounts }, (_, i) => {
        const role = ROLES[i % ROLES.length]!
        const elsewhere = role === 'sharer' ? addressOf(i + PREFIXES / 2) : addressOf(i)
        return buyer(`account-${i}`, role, addressOf(i), elsewhere, `farm-${Math.floor(i / ACCOUNTS_PER_PHONE)}`)
      }),
    ),
  }
}

function addressOf(account: number): string {
  return `198.18.${account % PREFIXES}.${1 + (Math.floor(account / PREFIXES) % ADDRESSES_PER_PREFIX)}`
}

async function buyer(id: string, role: Role, address: string, ordersFrom: string, phone: string): Promise<Buyer> {
  const token = await new SignJWT({ sub: id, phone })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
  return { id, role, address, ordersFrom, token }
}
