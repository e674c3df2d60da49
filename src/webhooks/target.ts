/** The address of an endpoint as an operator writes it: what is wrong with it that can be told without asking a name server. */

import { isIP } from 'node:net'
import type { AddressRules } from './address-rules.ts'

const URL_LENGTH_MAX = 2_000

/** Why nothing may be sent there; undefined: it may, as far as it is known before the name is resolved. */
export function targetRefusal(text: string, rules: AddressRules): string | undefined {
  const url = URL.parse(text)
  if (url === null || text.length > URL_LENGTH_MAX) return 'must be an https address of at most 2000 characters'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https address'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or a password'
  if (url.hash !== '') return 'must not have a # part'
  const host = hostOf(url)
  if (isIP(host) !== 0) return addressRefusal(url, [host], rules)
  if (url.protocol === 'http:' && !rules.allowsAny)
    return `must be an https address: without TLS only private networks are called that ${rules.setting} allows`
  return undefined
}

/** Why none of these addresses of the target may be called: one that is refused refuses all. */
export function addressRefusal(url: URL, addresses: readonly string[], rules: AddressRules): string | undefined {
  for (const address of addresses) {
    const why = rules.refusal(address)
    if (why !== undefined) return `leads to ${address} (${why}), which ${rules.setting} does not allow`
    if (url.protocol === 'http:' && !rules.isAllowed(address))
      return `leads to ${address} without TLS, which ${rules.setting} does not allow`
  }
  return undefined
}

/** The name or the address, without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}
