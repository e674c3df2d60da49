/** An answer of WeChat Pay as it came: bounded, not checked. Its body is kept as bytes, because they are what is signed. */

import type { HeaderSource } from './wechat-crypto.ts'

const ANSWER_BYTES_MAX = 256 * 1024

export interface WechatAnswer {
  readonly status: number
  readonly headers: HeaderSource
  readonly rawBody: Uint8Array
  /** The error code, where the body has one. */
  readonly code: string | undefined
  /** The error's sentence, in Chinese. It may quote what was sent: it is never logged. */
  readonly message: string
  /** Undefined: it is no JSON. */
  readonly json: () => unknown
}

export async function readAnswer(response: Response): Promise<WechatAnswer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer has more than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  const rawBody = new Uint8Array(Buffer.concat(chunks))
  const json = () => parseJson(rawBody)
  const { code, message } = (json() ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return {
    status: response.status,
    headers: response.headers,
    rawBody,
    code: typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : undefined,
    message: typeof message === 'string' ? message : '',
    json,
  }
}

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
