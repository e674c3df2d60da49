/** Headers for every answer that a browser could render. The crowd's refusals carry fewer (`problem-response.ts`), to be cheap. */

import { createHash } from 'node:crypto'

const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** For data: if a browser shows it all the same, it runs, loads and frames nothing. */
export const UNRENDERED = {
  ...ALWAYS,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** For a page of ours without scripts, whose only style is the given text in a style element. */
export function pageHeaders(style: string): Readonly<Record<string, string>> {
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    ...ALWAYS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}
