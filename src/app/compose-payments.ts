/**
 * The payment providers that PAYMENT_PROVIDERS names, in its order: the first is the default. A provider's code is loaded only where it is
 * configured. A new kind is one line in `OPENERS`, and one in `config/payment-settings.ts`.
 */

import { join } from 'node:path'
import { ProviderHealth } from '../flows/check/provider-health.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import { watchProvider } from '../payment/watched-provider.ts'
import type { PaymentAccount } from './config/payment/payment-settings.ts'
import { ownSecret } from './config/secrets.ts'
import type { ProcessContext } from './process-context.ts'

interface OpenedProvider {
  readonly provider: PaymentProvider
  /** Pages of its own, which it answers itself. */
  readonly handle?: (request: Request) => Promise<Response>
}

type OpeningPorts = Pick<ProcessContext, 'config' | 'clock' | 'random' | 'log'>

interface OpeningContext extends OpeningPorts {
  readonly sandboxPayments?: ProcessContext['sandboxPayments']
  /** How the world reaches this server, without a trailing slash. Known only after the process has started. */
  readonly publicUrl: () => string
  /** Of this very process. */
  readonly ownUrl: () => string
}

type Kind = PaymentAccount['kind']

const OPENERS: {
  readonly [K in Kind]: (account: PaymentAccount<K>, context: OpeningContext) => Promise<OpenedProvider>
} = {
  stripe: openStripe,
  alipay: async ({ name, settings }, { publicUrl, clock, random, log }) => {
    const { openAlipay } = await import('../payment/alipay/open-alipay.ts')
    return { provider: openAlipay(settings, { name, publicUrl, clock, random, log }) }
  },
  wechat: openWechat,
  sandbox: ({ settings }, context) => openSandbox(settings.METHODS, context),
  shop: openShop,
}

function openAccount<K extends Kind>(account: PaymentAccount<K>, context: OpeningContext): Promise<OpenedProvider> {
  const open: (typeof OPENERS)[K] = OPENERS[account.kind]
  return open(account, context)
}

/** The providers that take real money, for a tool that only examines them. */
export async function openForExamination(ports: OpeningPorts): Promise<readonly PaymentProvider[]> {
  const { publicUrl = 'http://localhost', paymentAccounts } = ports.config
  const url = () => publicUrl
  const real = paymentAccounts.filter(({ kind }) => kind !== 'sandbox')
  return Promise.all(
    real.map(async account => (await openAccount(account, { ...ports, publicUrl: url, ownUrl: url })).provider),
  )
}

/** Each is watched: how it answers is counted here, for all of them. */
export async function openPayments(context: ProcessContext, ownUrl: () => string) {
  const publicUrl = () => context.config.publicUrl ?? ownUrl()
  const opened: OpenedProvider[] = []
  for (const account of context.config.paymentAccounts)
    opened.push(await openAccount(account, { ...context, publicUrl, ownUrl }))
  const health = new ProviderHealth(context)
  for (const { provider } of opened) health.add(provider.name)
  return {
    providers: new Map(
      opened.map(({ provider }) => [provider.name, watchProvider(provider, health, context.clock)] as const),
    ),
    health,
    /** The sandbox's pay pages, where it is configured. */
    sandbox: opened.find(({ handle }) => handle !== undefined)?.handle,
    stop: async () => void (await Promise.all(opened.map(({ provider }) => provider.stop?.()))),
  }
}

/**
 * It calls back over real HTTP: to this server, or, in a cluster, to any edge behind PUBLIC_URL. The payments are in the ledger where all
 * processes of a cluster see them, else in the data folder.
 */
async function openSandbox(methods: readonly string[], context: OpeningContext) {
  const { config, sandboxPayments, publicUrl, ownUrl, clock, random, log } = context
  const { openSandbox: open } = await import('../payment/sandbox/open-sandbox.ts')
  const rows = config.redis && sandboxPayments
  return open({
    // In a cluster every edge must know a pay page and a callback's signature that another edge made.
    secret: ownSecret(config, random, 'sandbox-secret', 'sandbox'),
    rows,
    file: join(config.dataDir, 'sandbox-payments.jsonl'),
    callbackUrl: () => `${rows ? publicUrl() : ownUrl()}/api/payments/sandbox/callback`,
    publicUrl,
    methods,
    clock,
    random,
    log,
  })
}

async function openStripe({ name, settings }: PaymentAccount<'stripe'>, { publicUrl, clock, log }: OpeningContext) {
  const { StripeProvider } = await import('../payment/stripe/stripe-provider.ts')
  const provider = new StripeProvider({
    name,
    secretKey: settings.SECRET_KEY,
    webhookSecrets: settings.WEBHOOK_SECRET,
    publishableKey: settings.PUBLISHABLE_KEY,
    apiBase: settings.API_BASE,
    publicUrl,
    clock,
    log,
  })
  return { provider }
}

async function openWechat({ name, settings }: PaymentAccount<'wechat'>, context: OpeningContext) {
  const { Wechat } = await import('../payment/wechat/wechat.ts')
  const { publicUrl, clock, random, log } = context
  const account = {
    name,
    mchId: settings.MCH_ID,
    appId: settings.APP_ID,
    apiV3Key: settings.API_V3_KEY,
    privateKey: settings.PRIVATE_KEY,
    serialNo: settings.SERIAL_NO,
    publicKeys: settings.PUBLIC_KEY ?? [],
    apiBase: settings.API_BASE,
  }
  const callbackUrl = () => `${publicUrl()}/api/payments/${name}/callback`
  return {
    provider: new Wechat({ account, methods: settings.METHODS, callbackUrl, publicUrl, clock, random, log }),
  }
}

async function openShop({ settings }: PaymentAccount<'shop'>, { publicUrl, clock }: OpeningContext) {
  const { createShop } = await import('../payment/shop/shop.ts')
  return { provider: createShop({ secrets: settings.PAYMENT_SECRET, payUrl: settings.PAY_URL, publicUrl, clock }) }
}
