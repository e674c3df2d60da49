import { expect, test } from 'bun:test'
import { signed } from './sigv4.ts'

/** The examples of "Authenticating Requests: Using the Authorization Header" in Amazon's documentation of S3. */
const KEYS = {
  region: 'us-east-1',
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const HOST = 'https://examplebucket.s3.amazonaws.com'
const AT = Date.UTC(2013, 4, 24)

const signatureOf = (method: string, path: string, headers: Record<string, string> = {}, body = '') => {
  const request = { method, url: new URL(`${HOST}${path}`), headers, body: Buffer.from(body), unixMs: AT }
  return signed(request, KEYS).authorization
}

test('signs as the examples of the protocol do', () => {
  expect(signatureOf('GET', '/test.txt', { range: 'bytes=0-9' })).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
  const put = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' }
  expect(signatureOf('PUT', '/test%24file.text', put, 'Welcome to Amazon S3.')).toEndWith(
    'Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
  expect(signatureOf('GET', '/?lifecycle=')).toEndWith(
    'Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  )
  expect(signatureOf('GET', '/?max-keys=2&prefix=J')).toEndWith(
    'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  )
})

test('neither the order of the query nor that of the headers changes the signature, and the secret is in none of them', () => {
  expect(signatureOf('GET', '/?prefix=J&max-keys=2')).toBe(signatureOf('GET', '/?max-keys=2&prefix=J'))
  expect(signatureOf('GET', '/x', { a: '1', b: '2' })).toBe(signatureOf('GET', '/x', { b: '2', a: '1' }))
  expect(signatureOf('GET', '/x')).not.toContain(KEYS.secretKey)
  expect(signatureOf('GET', '/x', {}, 'one')).not.toBe(signatureOf('GET', '/x', {}, 'two'))
})
