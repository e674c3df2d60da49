import { expect, test } from 'bun:test'
import type { OperatorRole } from '../../wire/operator-role.ts'
import type { EdgeContext } from '../edge-context.ts'
import { webhookRoutes } from './webhook-routes.ts'

const ADDRESS = 'https://hooks.example:8443/services/T0/SECRET?key=1'
const WEBHOOK = { id: '1', url: ADDRESS, types: [], createdAtMs: 0 }

async function answerTo(role: OperatorRole, path: string): Promise<string> {
  const edge = {
    identity: { operator: () => ({ name: 'olga', role }) },
    hooks: { webhooks: { list: async () => [WEBHOOK] } },
  } as unknown as EdgeContext
  const { handle } = webhookRoutes(edge).find(one => one.method === 'GET' && one.path === path)!
  const url = new URL('http://stampede.test/')
  return (await handle({ request: new Request(url), params: { webhook: '1' }, requestId: 'r' })).text()
}

test('only admins see whole addresses of webhooks', async () => {
  for (const path of ['/api/admin/webhooks', '/api/admin/webhooks/{webhook}']) {
    expect(await answerTo('admin', path)).toContain(`"url":"${ADDRESS}"`)
    for (const role of ['viewer', 'operator'] as const)
      expect(await answerTo(role, path)).toContain('"url":"https://hooks.example:8443"')
  }
})
