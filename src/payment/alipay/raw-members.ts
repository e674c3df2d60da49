/**
 * The members of a JSON object as they stand in its text. Alipay signs the bytes of one member of its answer: parsing and writing it again
 * would change spaces, escapes and numbers, and with them the signature.
 */

/** Each member's name with the exact text of its value. Undefined: the text is not one JSON object, or names a member twice. */
export function rawMembers(text: string): ReadonlyMap<string, string> | undefined {
  try {
    const whole: unknown = JSON.parse(text)
    if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return undefined
  } catch {
    return undefined
  }
  // The text is sound JSON from here: only strings and brackets have to be told apart.
  const members = new Map<string, string>()
  let at = text.indexOf('{') + 1
  for (;;) {
    at = skipSpace(text, at)
    if (text[at] !== '"') return members
    const nameEnd = endOfString(text, at)
    const name = JSON.parse(text.slice(at, nameEnd)) as string
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = endOfValue(text, start)
    if (members.has(name)) return undefined
    members.set(name, text.slice(start, end).trimEnd())
    at = end + 1
  }
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\n' || text[at] === '\r') at += 1
  return at
}

/** @param from where its opening quote is */
function endOfString(text: string, from: number): number {
  let at = from + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** Up to the comma or bracket that follows it. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const char = text[at]!
    if (char === '"') {
      at = endOfString(text, at)
      continue
    }
    if (depth === 0 && (char === ',' || char === '}')) return at
    if (char === '{' || char === '[') depth += 1
    if (char === '}' || char === ']') depth -= 1
    at += 1
  }
  return text.length
}
