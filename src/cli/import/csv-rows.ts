/**
 * A CSV file as people save it from a spreadsheet, read into rows: RFC 4180 with quotes, doubled quotes and line breaks inside them; commas, semicolons or
 * tabs, whichever the first line has; a byte order mark is skipped, and so are empty lines. Knows nothing of products.
 */

interface CsvRow {
  /** Of the file, from 1: where the row begins. */
  readonly line: number
  readonly cells: readonly string[]
}

/** Throws an Error in words about a quote that is never closed. */
export function parseCsv(given: string): readonly CsvRow[] {
  const text = given.replace(/^\uFEFF/, '')
  const separator = separatorOf(text)
  const rows: CsvRow[] = []
  let line = 1
  let at = 0
  while (at < text.length) {
    const begins = line
    const cells: string[] = []
    for (let more = true; more; ) {
      const cell = text[at] === '"' ? quoted(begins) : plain()
      cells.push(cell)
      more = text[at] === separator
      if (more) at += 1
    }
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    line += 1
    if (cells.some(cell => cell.trim() !== '')) rows.push({ line: begins, cells })
  }
  return rows

  function plain(): string {
    const from = at
    while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at += 1
    return text.slice(from, at).trim()
  }

  function quoted(begins: number): string {
    let cell = ''
    for (at += 1; ; at += 1) {
      if (at >= text.length) throw new Error(`line ${begins}: a quote is opened and never closed`)
      if (text[at] === '\n') line += 1
      if (text[at] !== '"') cell += text[at]
      else if (text[at + 1] === '"') {
        cell += '"'
        at += 1
      } else break
    }
    at += 1
    // What follows a closed quote in the same cell is kept, as spreadsheets do.
    return (cell + plain()).trim()
  }
}

function separatorOf(text: string): string {
  const head = text.slice(0, /[\r\n]|$/.exec(text)?.index)
  const count = (mark: string) => head.split(mark).length
  return [',', ';', '\t'].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}
