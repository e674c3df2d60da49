/** The flags of `stampede sale create` for a waiting line. Without any of them the sale has none; the server alone checks what a line may be. */

/** Name, argument, description, as in the help. */
export const OF_LINE = [
  ['lineOrder', 'order', 'buyers wait in line: arrival, or draw for places by lot'],
  ['lineOpensAt', 'time', 'when buyers may join; default: when the sale opens'],
  ['lineRate', 'people', 'let in per second; default: auto, as the units and the load allow'],
  ['lineClaimWithin', 'seconds', 'time to order when let in'],
  ['lineSealsAt', 'time', 'of a draw: from then on no one can join it; default: a minute before the opening'],
  ['lineBeacon', 'source', 'of a draw: drand, or a public source in your words, whose value you enter after the seal'],
  ['lineBeaconRound', 'count', 'of drand; default: the first round after the seal'],
  ['lineClaim', 'claim', "a claim of the shop's token: each value of it joins once"],
] as const

type LineOptions = Readonly<Record<string, unknown>>

/**
 * @param opensAt of the sale
 * @param moment reads a time of this flag
 */
export async function lineOf(
  options: LineOptions,
  file: unknown,
  opensAt: unknown,
  moment: (flag: string, text: string) => Promise<unknown>,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (OF_LINE.every(([name]) => options[name] === undefined)) return undefined
  const { lineOrder, lineOpensAt, lineRate, lineClaimWithin, lineSealsAt, lineBeacon, lineBeaconRound, lineClaim } =
    options
  const before = (file ?? {}) as Readonly<Record<string, unknown>>
  const beacon = {
    ...(lineBeacon !== undefined && { source: lineBeacon }),
    ...(lineBeaconRound !== undefined && { round: lineBeaconRound }),
  }
  return {
    order: 'arrival',
    opensAt,
    ...before,
    ...(lineOrder !== undefined && { order: lineOrder }),
    ...(lineOpensAt !== undefined && { opensAt: await moment('--line-opens-at', `${lineOpensAt}`) }),
    ...(lineRate !== undefined && { rate: /^[\d.]+$/.test(`${lineRate}`) ? Number(lineRate) : lineRate }),
    ...(lineClaimWithin !== undefined && { claimWithinSeconds: lineClaimWithin }),
    ...(lineSealsAt !== undefined && { sealsAt: await moment('--line-seals-at', `${lineSealsAt}`) }),
    ...(Object.keys(beacon).length > 0 && { beacon: { ...(before.beacon as object | undefined), ...beacon } }),
    ...(lineClaim !== undefined && { claim: lineClaim }),
  }
}
