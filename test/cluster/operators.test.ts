import { afterEach, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { startNginx } from '../harness/nginx.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const FROM_PAGE = { 'x-stampede-ops': '1' }

test('an operator who signed in at one edge is signed in at every other, behind nginx and when that edge is gone', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 0, keepers: 0, fixedPorts: true })
  const [first, second] = cluster.edges()
  const urls = [first!.server().url(), second!.server().url()]
  const nginx = await startNginx(
    playground,
    urls.map(url => Number(new URL(url).port)),
  )
  const signedIn = await fetch(`${nginx.url}/ops/session`, {
    method: 'POST',
    headers: FROM_PAGE,
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  })
  expect(signedIn.status).toBe(200)
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const asked = (url: string, path: string, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { ...FROM_PAGE, cookie } }).then(response => response.status)
  for (const url of [...urls, nginx.url, nginx.url, nginx.url, nginx.url]) {
    expect(await asked(url, '/api/admin/sales')).toBe(200)
    expect(await asked(url, '/api/admin/sales', 'POST'), 'known, and sent no body').toBe(400)
  }
  // Signed out where it was asked for, at once.
  expect(await asked(urls[0]!, '/ops/session', 'DELETE')).toBe(204)
  expect(await asked(urls[0]!, '/api/admin/sales')).toBe(401)
  await first!.kill()
  expect(await asked(urls[1]!, '/api/admin/sales')).toBe(200)
}, 60_000)
