/** Headers for every answer that a browser could render. The crowd's refusals carry fewer (`problem-response.ts`), to be cheap. */

export const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** For data: if a browser shows it all the same, it runs, loads and frames nothing. */
export const UNRENDERED = {
  ...ALWAYS,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}
