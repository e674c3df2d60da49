/** A QR code, black on white in every colour scheme, with the margin that readers need. Readable from pixels, spoken as its label. */

import { encode } from 'uqr'

/** The standard's quiet zone, in squares. */
const MARGIN = 4

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const squares = encode(text, { ecc: 'M', border: 0 }).data
  const side = squares.length + 2 * MARGIN
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={label}
      focusable="false"
      shape-rendering="crispEdges"
      data-qr={text}
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={pathOf(squares)} fill="#000" />
    </svg>
  )
}

/** One rectangle for every run of black squares in a row. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  let path = ''
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; ) {
      let end = x
      while (row[end]) end += 1
      if (end > x) path += `M${x + MARGIN} ${y + MARGIN}h${end - x}v1h${x - end}z`
      x = end + 1
    }
  })
  return path
}
