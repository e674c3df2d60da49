import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Playground } from '../harness/playground.ts'
import { openPageShop, type PageShop } from './page-shop.ts'

const SCRIPT_GZIPPED_MAX = 30_000

const playground = new Playground()
let shop: PageShop
beforeAll(async () => {
  shop = await openPageShop(playground)
})
afterAll(() => playground.undo())

const assetsIn = (html: string) => Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), match => match[1] as string)

test('serves one small page under all its addresses, to be asked for again each time', async () => {
  const pages = await Promise.all(['/', '/s/1', '/orders', '/orders/1'].map(path => fetch(shop.url() + path)))
  const texts = await Promise.all(pages.map(page => page.text()))
  expect(new Set(texts).size).toBe(1)
  const { headers } = pages[0] as Response
  expect(headers.get('cache-control')).toBe('no-cache')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|\*|http:/)
  expect(texts[0]).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=/i)
  const again = await fetch(shop.url(), { headers: { 'if-none-match': headers.get('etag') ?? '' } })
  expect(again.status).toBe(304)
  expect((await fetch(`${shop.url()}/s/1`, { method: 'POST' })).status).toBe(405)
})

test('serves files that may be kept for ever, the script in at most 30 KB, and nothing from elsewhere', async () => {
  const html = await (await fetch(shop.url())).text()
  const paths = assetsIn(html)
  expect(paths).toHaveLength(3)
  for (const path of paths) {
    expect(path).toMatch(/^\/assets\/buyer-[0-9a-f]{16}\.(js|css|svg)$/)
    const file = await fetch(shop.url() + path)
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(file.headers.get('content-encoding')).toBe('gzip')
    const text = await file.text()
    if (path.endsWith('.js')) {
      expect(file.headers.get('content-type')).toStartWith('text/javascript')
      expect(gzipSync(text).length).toBeLessThanOrEqual(SCRIPT_GZIPPED_MAX)
    }
    expect(text.match(/https?:\/\/(?!www\.w3\.org)[a-z0-9.]+/g) ?? []).toEqual([])
  }
  const plain = await fetch(shop.url() + paths[0], { headers: { 'accept-encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect((await fetch(`${shop.url()}/assets/buyer-0.js`)).status).toBe(404)
  expect((await fetch(`${shop.url()}/assets/..%2f..%2fpackage.json`)).status).toBe(404)
})

test('says who is signed in, and that nobody is', async () => {
  const nobody = await fetch(`${shop.url()}/api/session`)
  expect(await nobody.json()).toEqual({ buyer: null, guests: true })
  const guest = await fetch(`${shop.url()}/api/session`, { method: 'POST', body: '{"buyer":"ann"}' })
  const cookie = (guest.headers.get('set-cookie') ?? '').split(';')[0] as string
  const ann = await fetch(`${shop.url()}/api/session`, { headers: { cookie } })
  expect(await ann.json()).toEqual({ buyer: 'ann', guests: true })
  expect(ann.headers.get('cache-control')).toBe('no-store')
})

test('writes the same page for a CDN, with the headers that nginx needs', async () => {
  const out = mkdtempSync(join(tmpdir(), 'stampede-page-'))
  try {
    const root = resolve(import.meta.dirname, '../..')
    const built = spawnSync(process.execPath, ['src/main.ts', 'page', 'build', '--out', join(out, 'new')], {
      cwd: root,
    })
    expect(built.stderr.toString()).toBe('')
    expect(built.status).toBe(0)
    const html = readFileSync(join(out, 'new/index.html'), 'utf8')
    expect(html).toBe(await (await fetch(shop.url())).text())
    const written = readdirSync(join(out, 'new/assets'))
    expect(written).toEqual(expect.arrayContaining(assetsIn(html).map(path => path.replace('/assets/', ''))))
    // Also what the page loads later, which its script names and its HTML does not.
    const script = readFileSync(join(out, 'new', assetsIn(html).find(path => path.endsWith('.js'))!), 'utf8')
    const later = Array.from(script.matchAll(/\/assets\/(buyer-[0-9a-f]{16}\.js)/g), match => match[1])
    expect(later.length).toBeGreaterThanOrEqual(3)
    expect(written).toEqual(expect.arrayContaining(later))
    expect(written.filter(name => name.startsWith('ops-'))).toEqual([])
    for (const name of written.filter(one => !one.endsWith('.gz')))
      expect((await fetch(`${shop.url()}/assets/${name}`)).status).toBe(200)
    const nginx = readFileSync(join(out, 'new/nginx.conf'), 'utf8')
    expect(nginx).toContain('max-age=31536000, immutable')
    expect(nginx).toContain("default-src 'self'")
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
})
