/** Whether keys, clock and settings fit, found by one query of a payment that does not exist. Changes nothing at Alipay. */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { PaymentProvider } from '../payment.ts'
import type { AlipayGateway } from './alipay-gateway.ts'

type Findings = Awaited<ReturnType<NonNullable<PaymentProvider['examine']>>>

const CLOCK_MS_MAX = 300_000
const CERTIFICATE_MS_MIN = 30 * 86_400_000

interface ExaminePorts {
  readonly name: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
  readonly certificatesEndMs: number | undefined
  readonly publicUrl: () => string
}

export async function examineAlipay(
  gateway: AlipayGateway,
  { clock, random, certificatesEndMs, publicUrl, name }: ExaminePorts,
  signal: AbortSignal,
): Promise<Findings> {
  const unknownRef = `examine-${Buffer.from(random.bytes(9)).toString('base64url')}`
  let problem: string | undefined
  try {
    await gateway.call('alipay.trade.query', { out_trade_no: unknownRef }, signal, { expects: ['no_trade'] })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    problem = error.message
  }
  const callback = `${publicUrl()}/api/payments/${name}/callback`
  const findings = [
    {
      what: 'app id and keys',
      ok: problem === undefined,
      detail: problem ?? "Alipay accepted our signature, and its answer has Alipay's",
    },
    {
      what: 'callback address',
      ok: callback.startsWith('https://'),
      detail: `Alipay is told ${callback} with every payment; it must be reachable from the internet, over https`,
    },
  ]
  const aheadSeconds = Math.round((gateway.aheadMs ?? 0) / 1_000)
  if (gateway.aheadMs !== undefined)
    findings.push({
      what: 'clock',
      ok: Math.abs(gateway.aheadMs) <= CLOCK_MS_MAX,
      detail: `Alipay's clock is ${Math.abs(aheadSeconds)} s ${aheadSeconds < 0 ? 'behind' : 'ahead of'} ours; set ours by NTP`,
    })
  if (certificatesEndMs !== undefined) {
    const days = Math.floor((certificatesEndMs - clock.now()) / 86_400_000)
    findings.push({
      what: 'certificates',
      ok: certificatesEndMs - clock.now() > CERTIFICATE_MS_MIN,
      detail: `the first of them ends in ${days} days; apply for a new one at Alipay before that`,
    })
  }
  return findings
}
