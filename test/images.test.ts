/** Pictures by upload: kept once, served to everybody for good, and nothing but a picture is taken. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { IMAGE_BYTES_MAX } from '../src/domain/image.ts'
import { ImageStore } from '../src/flows/operate/image-store.ts'
import type { Images } from '../src/ledger/images.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'

setDefaultTimeout(120_000)

const playground = new Playground()
let server: Stampede
beforeAll(async () => {
  server = await Stampede.start(playground, { dataDir: playground.dataDir() })
})
afterAll(() => playground.undo())

const PNG = Uint8Array.from('\x89PNG\r\n\x1a\n', one => one.charCodeAt(0))
const picture = (more: string, bytes = 0) => Buffer.concat([PNG, Buffer.from(more), Buffer.alloc(bytes)])

async function upload(body: BodyInit, token = ADMIN_TOKEN) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'image/png' }
  const response = await fetch(`${server.url()}/api/admin/images`, { method: 'POST', headers, body })
  const text = await response.text()
  assertDescribed('POST', '/api/admin/images', response.status, response.headers, text)
  return { status: response.status, body: JSON.parse(text) as Record<string, string> }
}

test('a picture is kept under the hash of its bytes, and served so that it may be kept for ever and runs nothing', async () => {
  const bytes = picture('<script>alert(1)</script>', 300_000)
  const name = `${createHash('sha256').update(bytes).digest('hex')}.png`
  expect(await upload(bytes)).toEqual({ status: 201, body: { image: `/images/${name}` } })
  expect(await upload(bytes)).toEqual({ status: 201, body: { image: `/images/${name}` } })
  for (const _ of ['from the ledger', 'from memory']) {
    const response = await fetch(`${server.url()}/images/${name}`)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'cross-origin',
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  }
  // Under another ending it is another name, and nothing is there.
  for (const path of [name.replace('.png', '.gif'), name.replace('.png', '.svg'), `${'0'.repeat(64)}.png`, '..%2fapi'])
    expect([path, (await fetch(`${server.url()}/images/${path}`)).status]).toEqual([path, 404])
})

test('what is no picture, or too large a one, or comes from somebody else, is refused in words', async () => {
  for (const body of ['<svg xmlns="http://www.w3.org/2000/svg"/>', '<!doctype html>', 'PNG', new Uint8Array()]) {
    const refused = await upload(body)
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      400,
      'body_invalid',
      expect.stringContaining('PNG, JPEG, WebP, GIF or AVIF'),
    ])
  }
  const most = picture('', IMAGE_BYTES_MAX - PNG.length)
  expect((await upload(most)).status).toBe(201)
  const large = Buffer.concat([most, Buffer.from('x')])
  const streamed = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(large))
      controller.close()
    },
  })
  for (const body of [large, streamed]) {
    const refused = await upload(body)
    expect([refused.status, refused.body.detail]).toEqual([413, expect.stringContaining('An image may have 2 MB')])
  }
  expect((await upload(picture('x'), 'somebody')).status).toBe(401)
})

test('copies in memory are bounded, one look-up serves all who ask together, and what is not there is asked for again', async () => {
  const kept = new Map<string, Uint8Array<ArrayBuffer>>()
  let reads = 0
  const images: Images = {
    async add(name, bytes) {
      kept.set(name, new Uint8Array(bytes))
      return true
    },
    async find(name) {
      reads += 1
      return kept.get(name)
    },
  }
  const store = new ImageStore({ images })
  const names: string[] = []
  for (let i = 0; i < 40; i++) {
    const added = await store.add(picture(`${i}`, 1_000_000), 'olga')
    if (added.kind === 'kept') names.push(added.name)
  }
  expect(names).toHaveLength(40)
  await Promise.all(names.flatMap(name => [store.find(name), store.find(name)]))
  expect(reads).toBe(40)
  const held = names.filter(name => store.copy(name) !== undefined)
  console.log(`  ${held.length} of 40 pictures of 1 MB are held`)
  expect(held).toEqual(names.slice(-31))
  expect([await store.find('missing'), await store.find('missing'), reads]).toEqual([undefined, undefined, 42])
})
