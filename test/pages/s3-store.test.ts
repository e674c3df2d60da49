import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { Fault } from '../../src/base/fault.ts'
import { createS3Store } from '../../src/pages/s3/s3-store.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { S3_BUCKET, S3_KEYS, startS3 } from '../harness/s3-server.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(600_000)

const playground = new Playground()
let server: Awaited<ReturnType<typeof startS3>>
beforeAll(async () => {
  server = await startS3(playground)
})
afterAll(() => playground.undo())

const storeAt = (prefix: string, other: Partial<Parameters<typeof createS3Store>[0]> = {}) => {
  const bucket = {
    endpoint: server.endpoint,
    bucket: S3_BUCKET,
    addressing: 'path',
    prefix,
    timeoutMs: 60_000,
  } as const
  return createS3Store({ ...bucket, ...S3_KEYS, ...other }, systemClock)
}
const file = (path: string, text: string) => {
  return { path, bytes: Buffer.from(text), contentType: 'text/html; charset=utf-8', cacheControl: 'public, max-age=5' }
}
const faultOf = async (call: Promise<unknown>): Promise<Fault> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Fault)
  return error as Fault
}

test('what was put is there under the address that buyers ask for, listed with its tag, and gone when removed', async () => {
  const store = storeAt('shop/pages/')
  expect(await store.list()).toEqual(new Map())
  const tag = await store.put(file('s/12.html', 'one'))
  expect(tag).toBe(store.tagOf(Buffer.from('one')))
  await store.put(file('index.html', 'front, 首页'))
  await store.put(file('assets/buyer-0123456789abcdef.js', 'script'))
  expect(readFileSync(join(server.folder, 'shop/pages/s/12'), 'utf8')).toBe('one')
  expect(new Set((await store.list()).keys())).toEqual(
    new Set(['s/12.html', 'index.html', 'assets/buyer-0123456789abcdef.js']),
  )
  // What others have put there is not ours.
  expect(await storeAt('').list()).toEqual(new Map())

  await store.put(file('s/12.html', 'two'))
  expect((await store.list()).get('s/12.html')).toBe(store.tagOf(Buffer.from('two')))
  await store.remove('s/12.html')
  await store.remove('s/12.html')
  expect(existsSync(join(server.folder, 'shop/pages/s/12'))).toBe(false)
  expect((await store.list()).has('s/12.html')).toBe(false)
})

test('a wrong key, a wrong secret, another region and a bucket that is not there are told by the code of S3, without the secret', async () => {
  const wrong = [
    [{ secretKey: 'another-secret' }, '403 SignatureDoesNotMatch'],
    [{ accessKey: 'another-key' }, '4'],
    [{ region: 'us-east-1' }, '400 AuthorizationHeaderMalformed'],
    [{ bucket: 'another-bucket' }, '404 NoSuchBucket'],
  ] as const
  for (const [other, code] of wrong) {
    const store = storeAt('', other)
    for (const call of [() => store.put(file('s/1.html', 'x')), () => store.list()]) {
      const { message } = await faultOf(call())
      expect(message).toContain(`answered ${code}`)
      expect(message).not.toMatch(/secret|key-of/)
    }
  }
  expect(existsSync(join(server.folder, 's/1'))).toBe(false)
})

test('a service that is gone or says nothing is a fault within its time', async () => {
  const gone = await faultOf(storeAt('', { endpoint: 'http://127.0.0.1:1' }).list())
  expect(gone.message).toContain('could not be reached')
  const silent = createServer(() => {})
  await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const fault = await faultOf(storeAt('', { endpoint, timeoutMs: 100 }).list())
  expect(fault.message).toContain('no answer within 100 ms')
  silent.closeAllConnections()
  silent.close()
})

test('more objects than one list has are all found', async () => {
  const store = storeAt('many/')
  for (let from = 1; from <= 1_050; from += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => store.put(file(`s/${from + i}.html`, `page ${from + i}`))))
  expect((await store.list()).size).toBe(1_050)
})

test('a server with a bucket in its settings puts a sale there on publish, with the key from a file that it never shows', async () => {
  const secretFile = join(server.folder, '../../secret')
  writeFileSync(secretFile, `${S3_KEYS.secretKey}\n`)
  const stampede = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: {
      PAGES_S3_ENDPOINT: server.endpoint,
      PAGES_S3_BUCKET: S3_BUCKET,
      PAGES_S3_REGION: S3_KEYS.region,
      PAGES_S3_PREFIX: 'live/',
      PAGES_S3_ACCESS_KEY: S3_KEYS.accessKey,
      PAGES_S3_SECRET_KEY_FILE: secretFile,
    },
  })
  await stampede.ready()
  const till = new Till(() => stampede.url())
  const sale = (await till.operator('POST', '/sales', {
    name: 'In a bucket',
    opensAt: '2090-01-01T00:00:00Z',
    closesAt: '2090-01-02T00:00:00Z',
    items: [{ name: 'Teapot', units: 5, price: { amount: 100, currency: 'CNY' } }],
  })) as unknown as { id: string }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  const object = join(server.folder, 'live/s', sale.id)
  await until('its page is in the bucket', () => existsSync(object))
  expect(readFileSync(object, 'utf8')).toContain('"name":"In a bucket"')
  const shown = await fetch(`${server.endpoint}/${S3_BUCKET}/live/s/${sale.id}`)
  // Only with a signature: the bucket is not public.
  expect(shown.status).toBe(403)
})
