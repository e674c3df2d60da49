/**
 * For tests: a server that speaks Stripe's API as its documents state it, with a pay page for buyers, idempotency keys, and webhooks that are
 * signed by Stripe's own library. It can fall silent, be slow, fail, or break off in the middle of an answer.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'
import type { LocalProvider } from '../contract/local-provider.ts'
import { type Params, Refusal, StripeAccount } from './stripe-account.fixture.ts'

interface Asked {
  readonly method: string
  /** With its question. */
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * hang: never answered. half: the answer breaks off. reset: the connection is closed. failed: it is done, and a 500 is answered and kept
 * under its key. A number is a status without anything done or kept.
 */
type Mood = 'fine' | 'hang' | 'half' | 'reset' | 'failed' | 500 | 503 | 429
type Performed = { readonly status: number; readonly body: string; readonly kept?: boolean }
type CallbackMode = NonNullable<Parameters<LocalProvider['approve']>[1]>

interface LocalStripeOptions {
  readonly now?: () => number
  readonly live?: boolean
  readonly secretKey?: string
  /** Signs with each of them. */
  readonly webhookSecrets?: readonly string[]
}

const CALLBACK_TRIES_MAX = 8
const RETRY_MS = 50

export async function openLocalStripe(options: LocalStripeOptions = {}) {
  const { now = Date.now, live = false } = options
  const { secretKey = `sk_${live ? 'live' : 'test'}_local`, webhookSecrets = ['whsec_localsecret'] } = options
  const asked: Asked[] = []
  const deliveries: { body: string; signature: string }[] = []
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const keys = new Map<string, { readonly words: string; answer?: Performed }>()
  const cut = new Set<string>()
  let moods: readonly Mood[] = []
  let moodOf: (one: Asked) => Mood = () => 'fine'
  let callbackUrl: string | undefined
  let events = 0
  let openCalls = 0
  let peak = 0
  let endpoints: { url: string; status: string; enabled_events: readonly string[] }[] = []

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const account = new StripeAccount(now, id => `${origin}/c/pay/${id}`, live)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const one: Asked = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: Buffer.concat(chunks).toString(),
      headers: request.headers as Record<string, string>,
    }
    const url = new URL(one.path, origin)
    if (url.pathname.startsWith('/c/pay/')) return page(one, url, response)
    asked.push(one)
    openCalls += 1
    peak = Math.max(peak, openCalls)
    response.once('close', () => {
      openCalls -= 1
    })
    const [next = moodOf(one), ...rest] = moods
    moods = rest
    const mood = isCut(one, url) ? 'hang' : next
    if (mood === 'hang') return
    if (mood === 'reset') return void request.socket.destroy()
    const { status, body, kept } = typeof mood === 'number' ? failure(mood) : await perform(one, url, mood === 'failed')
    response.setHeader('date', new Date(now()).toUTCString())
    if (kept) response.setHeader('idempotent-replayed', 'true')
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    if (mood === 'half') return void response.write(body.slice(0, body.length / 2))
    response.end(body)
  }

  /** Idempotency as documented: a key keeps the first answer, other words under it are refused, as is a second one at the same time. */
  async function perform(one: Asked, url: URL, fails: boolean): Promise<Performed> {
    const key = one.method === 'POST' ? one.headers['idempotency-key'] : undefined
    const words = `${one.path} ${one.body}`
    const known = key === undefined ? undefined : keys.get(key)
    if (known !== undefined && known.words !== words)
      return refusal(
        new Refusal(
          'Keys for idempotent requests can only be used with the same parameters they were first used with.',
          {
            type: 'idempotency_error',
          },
        ),
      )
    if (known !== undefined && known.answer === undefined)
      return refusal(
        new Refusal('There is currently another in-progress request using this Idempotent Key.', {
          status: 409,
          code: 'idempotency_key_in_use',
        }),
      )
    if (known?.answer !== undefined) return { ...known.answer, kept: true }
    const entry: { words: string; answer?: Performed } = { words }
    if (key !== undefined) keys.set(key, entry)
    // Another request may come in between, as at Stripe.
    await new Promise(resolve => setImmediate(resolve))
    try {
      if (one.headers.authorization !== `Bearer ${secretKey}`)
        throw new Refusal('Invalid API Key provided: sk_test_****', { status: 401 })
      if (!one.headers['stripe-version']) throw new Refusal('no Stripe-Version')
      const body = JSON.stringify(route(one, url))
      entry.answer = fails ? failure(500) : { status: 200, body }
      return entry.answer
    } catch (error) {
      // Nothing was done, so nothing is kept under the key.
      if (key !== undefined) keys.delete(key)
      if (error instanceof Refusal) return refusal(error)
      throw error
    }
  }

  function route({ method, body }: Asked, url: URL): unknown {
    const params = paramsOf(new URLSearchParams(method === 'POST' ? body : url.search))
    const [, , ...path] = url.pathname.split('/')
    const at = `${method} ${path.join('/').replace(/(cs|pi)_\w+/, ':id')}`
    const session = () => account.find(account.sessions, path[2]!)
    const intent = () => account.find(account.intents, path[1]!)
    switch (at) {
      case 'POST checkout/sessions':
        return shown(account.createSession(params))
      case 'POST checkout/sessions/:id/expire': {
        const expired = account.expireSession(session())
        send('checkout.session.expired', expired)
        return shown(expired)
      }
      case 'GET checkout/sessions/:id':
        return shown(session(), params)
      case 'GET checkout/sessions':
        return listOf([...account.sessions.values()], params)
      case 'POST payment_intents':
        return shown(account.createIntent(params))
      case 'POST payment_intents/:id/cancel': {
        const cancelled = account.cancelIntent(intent())
        send('payment_intent.canceled', cancelled)
        return shown(cancelled)
      }
      case 'GET payment_intents/:id':
        return shown(intent(), params)
      case 'GET payment_intents':
        return listOf([...account.intents.values()], params)
      case 'GET payment_intents/search': {
        const [, name, value] = /^metadata\['(\w+)'\]:'([\w-]+)'$/.exec(String(params.query)) ?? []
        return listOf(
          [...account.intents.values()].filter(({ metadata }) => metadata[name!] === value),
          { limit: '1' },
        )
      }
      case 'POST refunds': {
        const refund = account.createRefund(params)
        send('charge.refunded', chargeOf(refund.payment_intent))
        return refund
      }
      case 'GET refunds':
        return listOf(account.refunds, params)
      case 'GET webhook_endpoints':
        return listOf(endpoints, params)
      default:
        throw new Refusal(`Unrecognized request URL (${method}: ${url.pathname}).`, { status: 404 })
    }
  }

  const chargeOf = (intent: string) => account.charges.get(account.intents.get(intent)!.latest_charge!)!

  /** With what `expand` asks for. */
  function shown(found: object, params: Params = {}): object {
    const expand = Object.values((params.expand as Params) ?? {}).join()
    const copy: Record<string, unknown> = { ...found }
    delete copy.intentMetadata
    const intent = account.intents.get(String(copy.payment_intent))
    if (intent !== undefined && expand.includes('payment_intent'))
      copy.payment_intent = shown(intent, { expand: { 0: 'latest_charge' } })
    const charge = account.charges.get(String(copy.latest_charge))
    if (charge !== undefined && expand.includes('latest_charge')) copy.latest_charge = { ...charge }
    return copy
  }

  /** Newest first, in pages. */
  function listOf(all: readonly object[], params: Params) {
    const wanted = params.payment_intent
    const of = all.filter(one => wanted === undefined || (one as Params).payment_intent === wanted).toReversed()
    const { starting_after: last } = params
    const after = last === undefined ? -1 : of.findIndex(one => (one as Params).id === last)
    const limit = Number(params.limit ?? 10)
    const data = of.slice(after + 1, after + 1 + limit).map(one => shown(one))
    return { object: 'list', data, has_more: after + 1 + limit < of.length }
  }

  function isCut({ body }: Asked, url: URL): boolean {
    const words = decodeURIComponent(`${url.href} ${body}`)
    const refs = [...account.sessions.values(), ...account.intents.values()]
      .filter(({ id }) => words.includes(id))
      .map(({ metadata }) => metadata.stampede_ref ?? '')
    return [...cut].some(ref => refs.includes(ref) || new RegExp(`=${ref}(&|$)`).test(words))
  }

  function pay(payUrl: string, approved: boolean, mode: CallbackMode = 'plain'): 'captured' | 'refused' {
    const session = account.sessions.get(payUrl.split('/').at(-1) ?? '')
    const intent = session && account.paySession(session, approved)
    if (intent === undefined) return 'refused'
    if (!approved) send('payment_intent.payment_failed', intent, mode)
    else {
      send('payment_intent.succeeded', intent, mode)
      send('checkout.session.completed', session!, mode)
    }
    return approved ? 'captured' : 'refused'
  }

  /** In a browser: the buyer pays or not, and goes back. */
  function page({ method }: Asked, url: URL, response: ServerResponse): void {
    const [, , , id = '', act] = url.pathname.split('/')
    const session = account.sessions.get(id)
    if (session === undefined) return void response.writeHead(404).end()
    if (method === 'POST' && act !== undefined) {
      pay(id, act === 'approve')
      return void response.writeHead(303, { location: session.success_url }).end()
    }
    const form = (to: string, text: string) =>
      `<form method=post action="/c/pay/${id}/${to}"><button>${text}</button></form>`
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    response.end(`<!doctype html><title>Local Stripe</title>${form('approve', 'Pay')}${form('decline', 'Decline')}`)
  }

  /** An event of a capture is of its charge's second. */
  function createdOf(object: object): number {
    const { payment_intent, latest_charge } = object as Record<string, string | null>
    const charge = latest_charge ?? account.intents.get(payment_intent ?? '')?.latest_charge
    return account.charges.get(charge ?? '')?.created ?? Math.floor(now() / 1000)
  }

  function eventOf(type: string, object: object, more: object = {}): string {
    const id = `evt_${(++events).toString().padStart(8, '0')}${crypto.randomUUID().slice(0, 8)}`
    const created = createdOf(object)
    return JSON.stringify(
      { id, object: 'event', type, created, livemode: live, data: { object: shown(object) }, ...more },
      null,
      2,
    )
  }

  /** As Stripe sends it while secrets are replaced: a signature with each. */
  async function signatureOf(payload: string, secrets = webhookSecrets, atMs = now()): Promise<string> {
    const timestamp = Math.floor(atMs / 1000)
    const headers = await Promise.all(
      secrets.map(secret => Stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp } as never)),
    )
    return [`t=${timestamp}`, ...headers.map(header => header.split(',')[1])].join(',')
  }

  function send(type: string, object: object, mode: CallbackMode = 'plain'): void {
    const body = eventOf(type, object)
    if (mode === 'lost') return
    const lateMs = typeof mode === 'object' ? mode.lateMs : 0
    for (let copies = mode === 'double' ? 2 : 1; copies > 0; copies--) later(lateMs, () => deliver(body, 1))
  }

  async function deliver(body: string, tries: number): Promise<void> {
    const signature = await signatureOf(body)
    if (tries === 1) deliveries.push({ body, signature })
    if (callbackUrl === undefined) return
    const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature }
    const done = await fetch(callbackUrl, { method: 'POST', body, headers }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!done && tries < CALLBACK_TRIES_MAX) later(RETRY_MS * 2 ** tries, () => deliver(body, tries + 1))
  }

  function later(ms: number, act: () => Promise<void>): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      void act()
    }, ms)
    timers.add(timer)
  }

  const refs = () => new Set([...account.intents.values()].map(({ metadata }) => metadata.stampede_ref ?? ''))
  const booksOf = (ref: string) => {
    const intents = [...account.intents.values()].filter(({ metadata }) => metadata.stampede_ref === ref)
    const ids = new Set(intents.map(({ id }) => id))
    const refunds = account.refunds.filter(one => ids.has(one.payment_intent) && one.status === 'succeeded')
    return {
      captured: intents.reduce((sum, { amount_received }) => sum + amount_received, 0),
      refunded: refunds.reduce((sum, { amount }) => sum + amount, 0),
    }
  }

  return {
    name: 'stripe',
    settings: {
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecrets.join(','),
      STRIPE_API_BASE: origin,
    },
    callBackTo(url: string) {
      callbackUrl = url
    },
    approve: async (payUrl: string, mode?: CallbackMode) => pay(payUrl, true, mode),
    decline: async (payUrl: string) => void pay(payUrl, false),
    books: () => new Map([...refs()].map(ref => [ref, booksOf(ref)])),
    close: () => {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      return new Promise<void>(resolve => server.close(() => resolve()))
    },
    account,
    origin,
    asked,
    deliveries,
    eventOf,
    signatureOf,
    send,
    booksOf,
    /** The most calls that were open at the same time. */
    peak: () => peak,
    openCalls: () => openCalls,
    /** The shop's own form pays an intent. */
    confirm(clientSecret: string, approved = true, mode?: CallbackMode): void {
      const intent = account.find(account.intents, clientSecret.split('_secret_')[0]!)
      account.payIntent(intent, approved)
      send(`payment_intent.${approved ? 'succeeded' : 'payment_failed'}`, intent, mode)
    },
    /** How the next requests are answered, one each; then as `always` says. */
    behave(next: readonly Mood[], always: (one: Asked) => Mood = () => 'fine'): void {
      moods = next
      moodOf = always
    },
    /** As a day later. */
    forgetKeys: () => keys.clear(),
    setEndpoints(found: typeof endpoints) {
      endpoints = found
    },
    cutOff: (ref: string) => void cut.add(ref),
    reconnect: (ref: string) => void cut.delete(ref),
  } satisfies LocalProvider & Record<string, unknown>
}

function refusal({ status, body }: Refusal): Performed {
  return { status, body: JSON.stringify({ error: body }) }
}

function failure(status: number): Performed {
  return { status, body: JSON.stringify({ error: { type: 'api_error', message: 'An error occurred.' } }) }
}

function paramsOf(search: URLSearchParams): Params {
  const params: Record<string, unknown> = {}
  for (const [name, value] of search) {
    const path = name.split(/[[\]]+/).filter(Boolean)
    let at = params
    for (const part of path.slice(0, -1)) {
      at[part] ??= {}
      at = at[part] as Record<string, unknown>
    }
    at[path.at(-1)!] = value
  }
  return params as Params
}
