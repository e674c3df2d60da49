/**
 * AWS Signature Version 4 for S3, with the body's hash in the signature: what S3 and the servers that speak its protocol verify. Pure.
 * Paths and queries are signed as they are sent, so both must be percent-encoded already (RFC 3986).
 */

import { createHash, createHmac } from 'node:crypto'

export interface S3Keys {
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
}

interface ToSign {
  readonly method: string
  readonly url: URL
  /** Names in lower case. All of them are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly unixMs: number
}

/** The headers to send: those given, and what the signature adds. */
export function signed(request: ToSign, { region, accessKey, secretKey }: S3Keys): Record<string, string> {
  const { method, url, body, unixMs } = request
  const at = `${new Date(unixMs).toISOString().replace(/[:-]|\.\d{3}/g, '')}`
  const day = at.slice(0, 8)
  const bodyHash = sha256(body)
  const headers = { ...request.headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': at }
  const lines = Object.entries({ ...headers, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = lines.map(([name]) => name).join(';')
  const query = url.search.slice(1).split('&').filter(Boolean).sort().join('&')
  const canonical = [
    method,
    url.pathname,
    query,
    ...lines.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n')
  const key = ['aws4_request', 's3', region, day].reduceRight<Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    Buffer.from(`AWS4${secretKey}`),
  )
  const signature = createHmac('sha256', key).update(text).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope},SignedHeaders=${names},Signature=${signature}`
  return { ...headers, authorization }
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
