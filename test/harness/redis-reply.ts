/** Reads one reply of a Redis server (protocol version 2), independent of the client under test. */

/** Undefined: not all of it is there yet. A refusal is a value, an Error, because it may stand inside a list. */
export function parseReply(bytes: Buffer, from = 0): { readonly value: unknown; readonly end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', from)
  if (lineEnd === -1) return undefined
  const kind = String.fromCharCode(bytes[from]!)
  const line = bytes.toString('utf8', from + 1, lineEnd)
  const end = lineEnd + 2
  switch (kind) {
    case '+':
      return { value: line, end }
    case '-':
      return { value: new Error(line), end }
    case ':':
      return { value: Number(line), end }
    case '$': {
      const length = Number(line)
      if (length === -1) return { value: null, end }
      if (bytes.length < end + length + 2) return undefined
      return { value: bytes.toString('utf8', end, end + length), end: end + length + 2 }
    }
    case '*': {
      const values: unknown[] = []
      let next = end
      for (let i = 0; i < Number(line); i++) {
        const part = parseReply(bytes, next)
        if (part === undefined) return undefined
        values.push(part.value)
        next = part.end
      }
      return { value: Number(line) === -1 ? null : values, end: next }
    }
    default:
      throw new Error(`not a reply of Redis: ${kind}${line}`)
  }
}
