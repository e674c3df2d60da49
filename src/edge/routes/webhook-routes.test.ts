import { expect, test } from 'bun:test'
import type { Webhook } from '../../ledger/webhooks.ts'
import { shownTo } from './webhook-routes.ts'

test('only admins see whole addresses of webhooks', () => {
  const webhook = { id: '1', url: 'https://hooks.example:8443/services/T0/SECRET?key=1' } as Webhook
  expect(shownTo('admin', webhook)).toEqual(webhook)
  for (const role of ['viewer', 'operator'] as const)
    expect(shownTo(role, webhook)).toEqual({ ...webhook, url: 'https://hooks.example:8443' })
})
