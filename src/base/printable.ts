/** Text from outside, for a terminal: nothing in it moves the cursor, changes colours or turns the direction of writing. */

export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu, '\ufffd')
}
