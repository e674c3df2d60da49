/** The names of things. Ids are decimal strings of 64-bit numbers everywhere outside SQL: numbers would lose the last digits. */

export type SaleId = string
export type ItemId = string
export type OrderId = string
/** Chosen by the shop: what its buyer token says in `sub`. */
export type BuyerId = string
/** The fencing token of an item's gate: it only goes up, and what was done under a lower one is refused. */
export type Epoch = number

/** A positive 64-bit decimal without leading zeros: what an id of ours looks like when it comes from outside. */
export function isId(text: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(text) && (text.length < 19 || text <= '9223372036854775807')
}

export const BUYER_LENGTH_MAX = 128

/** Printable, without control characters or lone surrogates, and short enough for an index. */
export function isBuyerId(text: string): boolean {
  if (text.length < 1 || text.length > BUYER_LENGTH_MAX) return false
  return isVisibleAscii(text) || (!/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text) && text.trim() === text)
}

/** Most buyers are: this costs a click far less than the expression does. */
function isVisibleAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return true
}
