/**
 * The pages as bytes, bundled and compressed once: HTML that clients revalidate by its ETag, and files whose name changes with
 * their content, which clients may cache for ever.
 *
 * The security policy lets a page load from here and nowhere else, run no inline script or style, and be framed by no other page. Only
 * pictures may come from any HTTPS address, because the shop chooses where they lie. A challenge provider's widget has a page of its own
 * (`/challenge`), which the buyer's page frames: only there the provider's hosts are allowed, and only where one is configured.
 */

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { BuiltPages } from '../../web/build.ts'

export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
}

/** The pages, the buyer's HTML as text, and their files by name, without the path. */
export type Pages = Awaited<ReturnType<typeof loadPages>>

export const ASSETS_PATH = '/assets/'

export const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' https: data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** Of the page around a provider's widget. The provider's script makes what it needs by itself, so no trusted types are required. */
export const widgetHeaders = (hosts: readonly string[]): Readonly<Record<string, string>> => ({
  ...PAGE_HEADERS,
  'content-security-policy': [
    "default-src 'none'",
    ...['script-src', 'style-src', 'connect-src'].map(kind => `${kind} 'self' ${hosts.join(' ')}`),
    `frame-src ${hosts.join(' ')}`,
    `img-src 'self' ${hosts.join(' ')} data:`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'referrer-policy': 'strict-origin-when-cross-origin',
})

/** Of a page that is served as a file, with its sales inside: old for a moment, and for as long as nothing newer can be had. */
export const WRITTEN_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  'cache-control': 'public, max-age=5, stale-while-revalidate=30, stale-if-error=86400',
}

export const ASSET_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
}

/** Under an address that stays the same, so it is asked for again; pages of any origin may run it, as it holds nothing of anyone's. */
const BUTTON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The files of what buyers see: those of operators' pages are served by the edges alone. */
export const isBuyerAsset = (name: string) => !/^(ops|preview)-/.test(name)

/** Loads the pages when they are first asked for, once. */
export function pagesOnce(): () => Promise<Pages> {
  let loading: Promise<Pages> | undefined
  return () => {
    loading ??= loadPages()
    return loading
  }
}

export async function loadPages() {
  const { button, buyer, challenge, ops, preview } = await builtPages()
  const page = (html: string) => pageFile(html, 'text/html; charset=utf-8', PAGE_HEADERS)
  const files = [...buyer.files, ...challenge.files, ...ops.files, ...preview.files].map(({ name, text }) => {
    const contentType = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream'
    return [name, pageFile(text, contentType, ASSET_HEADERS)] as const
  })
  return {
    buyer: page(buyer.html),
    html: buyer.html,
    challenge: page(challenge.html),
    ops: page(ops.html),
    preview: page(preview.html),
    button: pageFile(button, CONTENT_TYPES['.js'] ?? '', BUTTON_HEADERS),
    assets: new Map(files),
  }
}

/** In a clone they are built from their sources; a package holds them ready, and no sources. */
async function builtPages(): Promise<BuiltPages> {
  const packed = new URL('../../dist/pages.json', import.meta.url)
  if (!existsSync(new URL('../../web', import.meta.url))) return JSON.parse(await readFile(packed, 'utf8'))
  const { buildPages } = await import('../../web/build.ts')
  return buildPages(ASSETS_PATH)
}

function pageFile(text: string, contentType: string, headers: Readonly<Record<string, string>>): PageFile {
  const bytes = Buffer.from(text)
  return {
    bytes,
    gzipped: gzipSync(bytes, { level: 9 }),
    // Weak, because the compressed and the plain form share it.
    etag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    headers: { 'content-type': contentType, ...headers, vary: 'accept-encoding' },
  }
}
