/** A QR code, black on white in every colour scheme, with the margin that readers need. Readable from pixels, spoken as its label. */

import { useMemo } from 'preact/hooks'
import { encode } from 'uqr'

/** The standard's quiet zone, in squares. */
const MARGIN = 4

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { side, path } = useMemo(() => draw(text), [text])
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
      <path d={path} fill="#000" />
    </svg>
  )
}

/** One rectangle for every run of black squares in a row. */
function draw(text: string): { readonly side: number; readonly path: string } {
  const { size, data } = encode(text, { ecc: 'M', border: 0 })
  let path = ''
  data.forEach((row, y) => {
    for (let x = 0; x < size; ) {
      let end = x
      while (row[end]) end += 1
      if (end > x) path += `M${x + MARGIN} ${y + MARGIN}h${end - x}v1h${x - end}z`
      x = end + 1
    }
  })
  return { side: size + 2 * MARGIN, path }
}
