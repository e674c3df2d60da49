/**
 * Where a buyer may be sent after paying: an http or https address, or a path on this site. Refuses everything else (scripts, data,
 * `//elsewhere`, addresses with a password). Does not decide which shops are trusted.
 */

const LENGTH_MAX = 2048
const HERE = 'http://here.invalid'

/** The normalized address, or undefined if it is refused. */
export function checkReturnUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === '' || text.length > LENGTH_MAX || /[\p{Cc}\p{Cs}\s\\]/u.test(text))
    return undefined
  const isPath = text.startsWith('/')
  const url = URL.parse(text, isPath ? HERE : undefined)
  if (url === null || url.username !== '' || url.password !== '') return undefined
  if (!isPath) return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined
  const path = `${url.pathname}${url.search}${url.hash}`
  // A browser reads two leading slashes as another site, also those that appear only when the dots in `/.//x` are resolved.
  return url.origin === HERE && !path.startsWith('//') ? path : undefined
}
