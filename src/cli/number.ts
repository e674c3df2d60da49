/** Whole numbers on the command line, refused by name when they are none. */

import { ConfigError } from '../app/config.ts'

export function wholeNumber(option: string): (text: string) => number {
  return text => {
    if (!/^[+-]?\d{1,15}$/.test(text)) throw new ConfigError(`${option}: "${text}" is not a whole number`)
    return Number(text)
  }
}
