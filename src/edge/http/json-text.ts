/**
 * What `JSON.parse` accepts and we refuse: a key twice in one object (readers differ on which one counts), and deep nesting. Reads text
 * that has parsed already, so it may rely on its form. Does not build values.
 */

const DEPTH_MAX = 32

export function faultOfJson(text: string): { readonly detail: string; readonly field: string } | undefined {
  /** One entry per open bracket: the keys seen so far, or undefined inside a list. */
  const open: (Set<string> | undefined)[] = []
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined)
      if (open.length > DEPTH_MAX) return { detail: 'The body is nested too deeply.', field: '' }
    } else if (char === '}' || char === ']') open.pop()
    else if (char === '"') {
      const end = stringEnd(text, i)
      const keys = open.at(-1)
      if (keys !== undefined && isKey(text, end)) {
        const key = JSON.parse(text.slice(i, end)) as string
        if (keys.has(key)) return { detail: `"${key}" is given twice in the same object.`, field: key }
        keys.add(key)
      }
      i = end - 1
    }
  }
  return undefined
}

/** Where the string that begins at `start` is over. */
function stringEnd(text: string, start: number): number {
  let i = start + 1
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1
  return i + 1
}

/** Only a key has a colon after it. */
function isKey(text: string, end: number): boolean {
  let i = end
  while (' \t\n\r'.includes(text[i] ?? 'x')) i += 1
  return text[i] === ':'
}
