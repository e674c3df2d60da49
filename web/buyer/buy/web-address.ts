/** An address that a browser opens; undefined: one of another kind, which only the provider's app understands. */
export function webAddress(text: string): string | undefined {
  const url = URL.parse(text, location.href)
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined
}
