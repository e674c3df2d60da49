/** The squares of a QR code. Loaded when a code is shown: most buyers never see one. */

import { encode } from 'uqr'

/** Rows of squares, true for black, without a margin. */
export function squaresOf(text: string): readonly (readonly boolean[])[] {
  return encode(text, { ecc: 'M', border: 0 }).data
}
