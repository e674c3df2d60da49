/**
 * What the flows that move money, run sales and check them share. And the sandbox payment provider: in this process alone, or in every process
 * of a cluster on payments that all of them share.
 */

import { join } from 'node:path'
import type { OrderId } from '../domain/ids.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import { releaseNow } from '../flows/money/release-units.ts'
import { settleOrder } from '../flows/money/settle-payments.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import { FileStore } from '../payment/sandbox/file-store.ts'
import { PaymentRepository } from '../payment/sandbox/payment-repository.ts'
import { Sandbox } from '../payment/sandbox/sandbox.ts'
import { handleSandbox } from '../payment/sandbox/sandbox-http.ts'
import { createSandboxKeys } from '../payment/sandbox/sandbox-keys.ts'
import { ownSecret } from './config/secrets.ts'
import type { ProcessContext, Runner } from './process-context.ts'

export interface Flows extends MoneyContext, OperateContext, CheckContext {
  readonly alarm: ProcessContext['alarm']
}

export function composeFlows(
  context: ProcessContext,
  view: GateView,
  syncState: OperateContext['syncState'],
  rebuild: Runner['rebuild'],
  providers: ReadonlyMap<string, PaymentProvider>,
): Flows {
  const ports = { ...context, orders: context.copies.readThrough(context.orders), providers }
  return {
    ...ports,
    view,
    syncState,
    rebuild,
    nowMs: () => context.view.nowMs(),
    changed: () => context.catalog.changed(),
    settleOrder: (order: OrderId) => settleOrder(ports, order),
    releaseNow: (closed: readonly OrderId[]) => releaseNow(ports, closed),
  }
}

/**
 * It calls back over real HTTP: to this server (`url`), or, in a cluster, to any edge behind PUBLIC_URL. The payments are in the ledger where all
 * processes of a cluster see them, else in the data folder.
 */
export async function openSandbox(context: ProcessContext, url: () => string) {
  const { config, clock, random, log } = context
  const publicUrl = () => config.publicUrl ?? url()
  const shared = config.redis && context.sandboxPayments
  // In a cluster every edge must know a pay page and a callback's signature that another edge made.
  const keys = createSandboxKeys(ownSecret(config, random, 'sandbox-secret', 'sandbox'))
  const rows = shared ?? (await FileStore.open(join(config.dataDir, 'sandbox-payments.jsonl'), log))
  const payments = new PaymentRepository(rows, clock)
  const callbackUrl = () => `${shared ? publicUrl() : url()}/api/payments/sandbox/callback`
  const sandbox = new Sandbox({ payments, keys, clock, random, log, callbackUrl, publicUrl })
  return {
    provider: sandbox,
    handle: (request: Request) => handleSandbox(sandbox, keys, request),
    stop: () => sandbox.stop(),
  }
}
