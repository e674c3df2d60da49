/** The shop's own judgement, as a program that Stampede asks (RISK_URL): the accounts of one phone number beyond the first are denied. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const ACCOUNTS_PER_PHONE_MAX = 1

export async function startRiskHook() {
  const accounts = new Map<string, Set<string>>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { buyer: string; claims: { phone: string } }
    const ofPhone = accounts.get(asked.claims.phone) ?? new Set()
    accounts.set(asked.claims.phone, ofPhone)
    if (ofPhone.size < ACCOUNTS_PER_PHONE_MAX) ofPhone.add(asked.buyer)
    const decision = ofPhone.has(asked.buyer) ? 'allow' : 'deny'
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ decision }))
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
