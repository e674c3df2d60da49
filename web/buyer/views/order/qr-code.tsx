/** A QR code, black on white in every colour scheme, with the margin that readers need. Readable from pixels, spoken as its label. */

import { useEffect, useState } from 'preact/hooks'
import { loadQr } from '../../later-files.ts'
import { paymentWords } from '../../words/payment.ts'

/** The standard's quiet zone, in squares. */
const MARGIN = 4
/** A small code has so many squares; until it is drawn its place is kept. */
const SIDE_MIN = 25 + 2 * MARGIN

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const drawn = useDrawing(text)
  if (drawn === 'failed') return <p class="note problem">{paymentWords().codeFailed}</p>
  const side = drawn?.side ?? SIDE_MIN
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={label}
      focusable="false"
      shape-rendering="crispEdges"
      data-qr={drawn === undefined ? undefined : text}
    >
      <rect width={side} height={side} fill="#fff" />
      {drawn !== undefined && <path d={drawn.path} fill="#000" />}
    </svg>
  )
}

/** Undefined while the code that draws is being loaded. */
function useDrawing(text: string) {
  const [drawn, setDrawn] = useState<ReturnType<typeof draw> | 'failed'>()
  useEffect(() => {
    let wanted = true
    loadQr().then(
      ({ squaresOf }) => wanted && setDrawn(draw(squaresOf(text))),
      () => wanted && setDrawn('failed'),
    )
    return () => {
      wanted = false
    }
  }, [text])
  return drawn
}

/** One rectangle for every run of black squares in a row. */
function draw(rows: readonly (readonly boolean[])[]): { readonly side: number; readonly path: string } {
  let path = ''
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; ) {
      let end = x
      while (row[end]) end += 1
      if (end > x) path += `M${x + MARGIN} ${y + MARGIN}h${end - x}v1h${x - end}z`
      x = end + 1
    }
  })
  return { side: rows.length + 2 * MARGIN, path }
}
