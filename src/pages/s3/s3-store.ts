/**
 * Pages in a bucket of S3, or of any server that speaks its protocol. An object is replaced whole by the protocol itself. The page of a sale has the
 * key that buyers ask for (`s/123`), so a CDN in front of the bucket needs no rewriting.
 *
 * Its tag is the object's ETag: the MD5 of the bytes where the server makes it so. Where it does not (encryption with keys of the customer), a new
 * leader writes every page once and remembers the tag it was told.
 *
 * Neither key nor secret leaves this file but in a signature; of an answer that refuses only the status and S3's own code are told.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { assertPagePath, isPagePath, type PageStore, saleOfPath } from '../page-store.ts'
import { type S3Keys, signed } from './sigv4.ts'

interface Bucket extends S3Keys {
  /** Of the service, without a path. */
  readonly endpoint: string
  readonly bucket: string
  /** `path`: the bucket is the first part of the path. `host`: it is the first part of the host. */
  readonly addressing: 'path' | 'host'
  /** Before every key; empty, or with a slash at its end. */
  readonly prefix: string
  readonly timeoutMs: number
}

const EMPTY = new Uint8Array()
/** A list has a thousand keys. */
const LISTS_MAX = 20
const ANSWER_BYTES_MAX = 4 * 2 ** 20

export function createS3Store(at: Bucket, clock: Clock): PageStore {
  const endpoint = new URL(at.endpoint)
  const base =
    at.addressing === 'host'
      ? `${endpoint.protocol}//${at.bucket}.${endpoint.host}/`
      : `${endpoint.origin}/${at.bucket}/`
  const addressOf = (path: string) => new URL(`${base}${at.prefix}${path.replace(/^(s\/\d+)\.html$/, '$1')}`)

  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    url: URL,
    headers: Readonly<Record<string, string>> = {},
    body: Uint8Array = EMPTY,
  ): Promise<{ readonly text: string; readonly etag: string }> {
    const given = signed({ method, url, headers, body, unixMs: clock.now() }, at)
    return withDeadline(clock, at.timeoutMs, async signal => {
      let answer: Response
      let text: string
      try {
        const content = method === 'PUT' ? { body: Buffer.from(body) } : {}
        answer = await fetch(url, { method, headers: given, ...content, redirect: 'manual', signal })
        text = await boundedText(answer)
      } catch (error) {
        if (error instanceof Fault) throw error
        const why = signal.aborted ? `no answer within ${at.timeoutMs} ms` : 'it could not be reached'
        throw new Fault('pages_not_written', `S3 at ${endpoint.host}: ${why}`, { retryable: true })
      }
      if (answer.status >= 200 && answer.status <= 299)
        return { text, etag: (answer.headers.get('etag') ?? '').replace(/^W\/|"/g, '') }
      const code = /<Code>(\w{1,60})<\/Code>/.exec(text)?.[1] ?? ''
      throw new Fault('pages_not_written', `S3 at ${endpoint.host} answered ${answer.status} ${code}`.trim(), {
        retryable: true,
      })
    })
  }

  const tagOf = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex')

  return {
    tagOf,
    async list() {
      const found = new Map<string, string>()
      let after = ''
      for (let i = 0; i < LISTS_MAX; i++) {
        const url = new URL(base)
        const query = [
          ['list-type', '2'],
          ['prefix', at.prefix],
          ...(after === '' ? [] : [['continuation-token', after]]),
        ]
        url.search = query.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')
        const { text } = await send('GET', url)
        for (const [, content = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const path = pathOf(partOf(content, 'Key'), at.prefix)
          if (path !== undefined) found.set(path, partOf(content, 'ETag').replace(/^W\/|&quot;|&#34;|"/g, ''))
        }
        after = partOf(text, 'NextContinuationToken')
        if (after === '') return found
      }
      throw new Fault('pages_not_written', `S3 at ${endpoint.host}: more than ${LISTS_MAX} lists of keys`)
    },
    async put({ path, bytes, contentType, cacheControl }) {
      assertPagePath(path)
      const headers = { 'content-type': contentType, 'cache-control': cacheControl }
      const { etag } = await send('PUT', addressOf(path), headers, bytes)
      return etag === '' ? tagOf(bytes) : etag
    },
    async remove(path) {
      assertPagePath(path)
      await send('DELETE', addressOf(path))
    },
  }
}

/** Undefined: it is no object of ours. */
function pathOf(key: string, prefix: string): string | undefined {
  if (!key.startsWith(prefix)) return undefined
  const rest = key.slice(prefix.length)
  if (saleOfPath(rest) !== undefined) return undefined
  const path = rest.replace(/^s\/\d+$/, '$&.html')
  return isPagePath(path) ? path : undefined
}

const partOf = (xml: string, name: string) => new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1] ?? ''

async function boundedText(answer: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of answer.body ?? []) {
    length += part.length
    if (length > ANSWER_BYTES_MAX) throw new Fault('pages_not_written', 'S3 answered with too much')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
