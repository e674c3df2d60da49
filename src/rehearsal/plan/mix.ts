/** What buyers do, as shares of all buyers (bots come on top). The default resembles a real crowd; each share can be changed. */

export interface Mix {
  /** Reads the server's time before the opening, as the page's countdown does. */
  readonly time: number
  /** Clicks before the opening, is refused, and clicks again. */
  readonly early: number
  /** Clicks a second time before or after the first answer. */
  readonly double: number
  /** Of the buyers with an order: pay, cancel; the rest abandon it. */
  readonly pay: number
  readonly cancel: number
  /** Click several times without a ticket or with a forged one, from few addresses. */
  readonly bots: number
}

export const DEFAULT_MIX: Mix = { time: 0.05, early: 0.05, double: 0.05, pay: 0.6, cancel: 0.05, bots: 0.01 }

/** Reads `early=10,bots=0`: percent of all buyers. Throws an error that says what is wrong. */
export function parseMix(text: string | undefined): Mix {
  const mix: Record<string, number> = { ...DEFAULT_MIX }
  for (const part of text?.split(',') ?? []) {
    const match = /^\s*([a-z]+)=([0-9]{1,3}(?:\.[0-9]+)?)%?\s*$/.exec(part)
    const [, name = '', percent = ''] = match ?? []
    if (match === null || !Object.hasOwn(DEFAULT_MIX, name) || Number(percent) > 100)
      throw new Error(
        `"${part.trim()}" is not one of ${Object.keys(DEFAULT_MIX).join(', ')} with a percentage, like early=10`,
      )
    mix[name] = Number(percent) / 100
  }
  if (mix.pay! + mix.cancel! > 1) throw new Error('pay and cancel together are more than 100%')
  return mix as unknown as Mix
}

export function describeMix(mix: Mix): string {
  return Object.entries(mix)
    .map(([name, share]) => `${name} ${Math.round(share * 1000) / 10}%`)
    .join(', ')
}
