import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PROBLEMS } from '../src/wire/problems.ts'
import { renderConfigurationReference } from './reference/configuration.ts'
import { renderErrorsReference } from './reference/errors.ts'
import { PAGES } from './reference/pages.ts'

/** Read off API.md by hand. */
const SETTINGS =
  'HOST PORT PUBLIC_URL CORS_ORIGINS DATA_DIR DATABASE_URL REDIS_URL REDIS_DURABILITY REDIS_REPLICAS FENCE_MS PLACED_WAIT_MS ROLES THREADS ' +
  'ADMIN_TOKEN ADMIN_TOKENS TICKET_KEYS BUYER_JWT_SECRET BUYER_JWKS_URL BUYER_JWT_ISSUER BUYER_JWT_AUDIENCE GUEST_SIGN_IN ' +
  'PAYMENT_PROVIDERS TRUSTED_PROXIES RATE_PER_ADDRESS RATE_PER_BUYER RATE_PER_ITEM RATE_TOTAL DEMO LOG_LEVEL METRICS_PORT DRAIN_SECONDS'

for (const [path, render] of Object.entries(PAGES)) {
  test(`${path} says what the code says`, () => {
    const page = readFileSync(resolve(import.meta.dirname, '..', path), 'utf8')
    if (page !== render()) throw new Error(`${path} has fallen behind: run "npm run reference"`)
  })
}

test('every setting of API.md is explained, and every problem code', () => {
  const page = renderConfigurationReference()
  expect(SETTINGS.split(' ').filter(name => !page.includes(`\`${name}\``))).toEqual([])
  expect(page).toContain('| `RATE_PER_ADDRESS` | `100/1s` |')
  expect(page).toContain('| `PORT` | `8080` |')
  expect(page).not.toMatch(/\| +\|$/m)
  const errors = renderErrorsReference()
  expect(Object.keys(PROBLEMS).filter(code => !errors.includes(`## ${code}\n`))).toEqual([])
})
