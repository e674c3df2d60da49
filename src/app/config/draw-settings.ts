/** The setting of the draw's beacon: where rounds of drand are fetched. Which chain, and its key, is no setting (`src/domain/draw/drand-rounds.ts`). */

import { list, secureAddress, setting } from './setting.ts'

/** The public relays of the League of Entropy, as drand's documentation names them. */
const PUBLIC_HOSTS = [
  'https://api.drand.sh',
  'https://api2.drand.sh',
  'https://api3.drand.sh',
  'https://drand.cloudflare.com',
  'https://api.drand.secureweb3.com:6875',
]

export const DRAW_SETTINGS = {
  DRAND_HOSTS: setting({
    about:
      'Servers that have the rounds of drand (quicknet), separated by commas: asked one after the other by the leader when a draw names drand as its beacon. None is trusted: signatures are checked.',
    schema: list
      .refine(
        hosts => hosts.length > 0 && hosts.length <= 16 && hosts.every(host => secureAddress.safeParse(host).success),
        'must be 1 to 16 https addresses, separated by commas',
      )
      .transform(hosts => hosts.map(host => host.replace(/\/+$/, ''))),
    default: PUBLIC_HOSTS.join(','),
  }),
}
