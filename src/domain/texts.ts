/**
 * What a buyer reads of a sale or an item, in the languages that the page speaks. Only shown: gates, reservations, orders, events and
 * messages know the plain name alone, which also stands wherever a language has no text of its own.
 */

export const LANGUAGES = ['en', 'zh'] as const
type Language = (typeof LANGUAGES)[number]

export type Texts = { readonly [L in Language]?: { readonly name: string } | undefined }

/** On one line, for the log: the same texts give the same line, in whatever order they were written. */
export function textsLine(texts: Texts | undefined): string | undefined {
  const named = LANGUAGES.flatMap(one => (texts?.[one] === undefined ? [] : [`${one}: ${texts[one].name}`]))
  return named.length === 0 ? undefined : named.join(' / ')
}
