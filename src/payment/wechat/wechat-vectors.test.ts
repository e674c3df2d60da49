/**
 * Our signatures and decryption against values that others have published: the notification in the tests of WeChat Pay's own Go client
 * (wechatpay-go, core/notify), the ciphertext in those of its Java client (wechatpay-java, AeadAesCipherTest), and `wechatpay-axios-plugin`.
 */

import { expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { Aes, Formatter, Rsa } from 'wechatpay-axios-plugin'
import { isGenuine, readSignature, signLines, unseal } from './wechat-crypto.ts'
import { rsaPair } from './wechat-signer.fixture.ts'

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDVzCCAj+gAwIBAgIJANfOWdH1ItcBMA0GCSqGSIb3DQEBCwUAMEIxCzAJBgNV
BAYTAlhYMRUwEwYDVQQHDAxEZWZhdWx0IENpdHkxHDAaBgNVBAoME0RlZmF1bHQg
Q29tcGFueSBMdGQwHhcNMjEwNDI3MDg1NTIzWhcNMzEwNDI1MDg1NTIzWjBCMQsw
CQYDVQQGEwJYWDEVMBMGA1UEBwwMRGVmYXVsdCBDaXR5MRwwGgYDVQQKDBNEZWZh
dWx0IENvbXBhbnkgTHRkMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
2VCTd91fnUn73Xy9DLvt/V62TVxRTEEstVdeRaZ3B3leO0pldE806mXO4RwdHXag
HQ4vGeZN0yqm++rDsGK+U3AH7kejyD2pXshNP9Cq5YwbptiLGtjcquw4HNxJQUOm
DeJf2vg6byms9RUipiq4SzbJKqJFlUpbuIPDpSpWz10PYmyCNeDGUUK65E5h2B83
4uxl1zNLYQCrkdBzb8oUxwYeP5a2DNxmjL5lsJML7DGr5znsevnoqGRwTm9fxCGf
y8wus7hwKz6clt3Whmmda7UAdb1c08hEQFVRbF14AR73xbnd8N0obCWJPCbzMCtk
aSef4FdEEgEXJiw0VAJT8wIDAQABo1AwTjAdBgNVHQ4EFgQUT1c7nd/SUO76HSoZ
umNUJv1R5PwwHwYDVR0jBBgwFoAUT1c7nd/SUO76HSoZumNUJv1R5PwwDAYDVR0T
BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOCAQEAfTjxKRQMzNB/U6ZoCUS+BSNfa2Oh
0plMN6ZuzwiVVZwg1jywvv5yv04koS7Pd4i9E4gt9ZBUQXlpq+A3oOCEEHNRR6b2
kyazGRM7s0OP5X21WrbpSmKmU6K7hkfx30yYs08LVs/Q8DIhvaj1FCFeJzUCzYn/
fHMq4tsbKO0dKAeydPM/nrUZBmaYQVKMVOORGLFjFKVO7JV6Kq/R86ouhjEPgJOe
2xulNBUcjicqtZlBdEh/PWCYP2SpGVDclKm8jeo175T3EVAkdKzzmfpxtMmnMlmq
cTJOU9TxuGvNASMtjj7pYIerTx+xgZDXEVBWFW9PjJ0TV06tCRsgSHItgg==
-----END CERTIFICATE-----`

const HEADERS = new Map([
  ['wechatpay-nonce', 'EcZ9Cmy4Xyx1i6RlJQzLcCyEqDa26NBz'],
  ['wechatpay-timestamp', '1624523846'],
  ['wechatpay-serial', 'D7CE59D1F522D701'],
  [
    'wechatpay-signature',
    'tJHIiIS9eB2hAYstmAmbbD3ZE5LiIm/Ug5tuL4fC0YOFRWIHV39UFIZXC0e9Wl6lBu6sKvkqDkzpqzBsVHyXF' +
      'lbYZTOQrVdG4b6LfTnK4mikv9++ixJMd3vTf2yCqvBkh98zs3Ds5zsYQakzbcwhmw4fMJs4nPLws28H0UW9FjDR//rxELLwXvV1VEA1I' +
      'BLX70xptjL8hrfUjEE8kkry6yNJTHZRU8CAc7qHli2Ng1V1qb9ARbK8A3ThmFmPQvRGrapI/jS2laKKgYUmfdEdkNO6B2Cke5e8VTxY4' +
      '06ArAmQ90GAihDwIcb16TQMnzCMBoutnwZKNiKRACrFmtxw2Q==',
  ],
])

const BODY =
  '{"id":"3119dfba-e649-5eec-ab1e-3412bc4d2e17","create_time":"2021-06-24T16:37:26+08:00",' +
  '"resource_type":"encrypt-resource","event_type":"PAYSCORE.USER_OPEN_SERVICE","summary":"签约成功","resource":{' +
  '"original_type":"payscore","algorithm":"AEAD_AES_256_GCM",' +
  '"ciphertext":"YDS3lKPaC4Y52Gf3uhft5qUBlIa8b428AWTtTauHQfQrRw+X1WpiuHIDy0vo1Vd6VEq67aVyqPdDYMkRVSDaZL3iZt' +
  'tevRMOoPKMifozg6XPWjIZumks/GpT48lI4NizyeaqLBokNebthah3o1H76qSlO9NkDjp9bzmKLEYYH9TEklFUpsvPqOTOcgSLgh21YJXYR' +
  '7dEBXFgRLiNIKRgO5JdXh1hccRUAlyVWxE54PXpnQ==","associated_data":"payscore","nonce":"Kj7QIyUiYx1q"}}'

test('the published notification passes, and not with a byte changed', () => {
  const key = new X509Certificate(CERTIFICATE).publicKey
  const signature = readSignature(HEADERS)!
  expect(isGenuine(key, Buffer.from(BODY), signature)).toBe(true)
  expect(isGenuine(key, Buffer.from(BODY.replace('签约成功', '签约失败')), signature)).toBe(false)
  expect(isGenuine(key, Buffer.from(BODY), { ...signature, timestamp: '1624523847' })).toBe(false)
  expect(isGenuine(key, Buffer.from(BODY), { ...signature, nonce: 'x' })).toBe(false)
})

test('the published ciphertext is decrypted, and not with another key, nonce or associated data', () => {
  const key = 'a7cde1ZJB1kG2e7VfTs3jQzaWizur8Gb'
  const sealed = {
    ciphertext: 'ulwSiIajGClcvcOYvOQ7+l+0PAbzzwI=',
    nonce: 'uluk4a9R25RW',
    associated_data: 'associatedData',
  }
  expect(unseal(key, sealed)).toBe('message')
  expect(unseal('b7cde1ZJB1kG2e7VfTs3jQzaWizur8Gb', sealed)).toBeUndefined()
  for (const wrong of [
    { nonce: 'bad-4a9R25RW' },
    { nonce: 'short' },
    { associated_data: 'bad-associatedData' },
    { associated_data: undefined },
    { ciphertext: 'AAAA' },
    { ciphertext: 'not base64!' },
    { ciphertext: '' },
  ])
    expect(unseal(key, { ...sealed, ...wrong })).toBeUndefined()
})

test('what the other implementation signs and encrypts passes, and it accepts what we sign', () => {
  const { privateKey, publicKey } = rsaPair(0)
  const lines = ['POST', '/v3/pay/transactions/native?a=%E4%BB%98', '1554208460', '593BEC0C930BF1AF', '{"汉":"字"}']
  const [method, uri, timestamp, nonce, body] = lines as [string, string, string, string, string]
  expect(
    Rsa.verify(Formatter.request(method, uri, timestamp, nonce, body), signLines(privateKey, lines), publicKey),
  ).toBe(true)
  const signature = Rsa.sign(Formatter.response(timestamp, nonce, body), privateKey)
  expect(isGenuine(publicKey, Buffer.from(body), { timestamp, nonce, serial: '', signature })).toBe(true)
  const key = Formatter.nonce(32)
  const ciphertext = Aes.AesGcm.encrypt('汉字', key, 'abcdefghijkl', '')
  expect(unseal(key, { ciphertext, nonce: 'abcdefghijkl' })).toBe('汉字')
})
