/**
 * `stampede doctor --live`, of what stands in front: does PUBLIC_URL lead to this shop, with a certificate that browsers take and that lasts, is
 * the page not served in the clear beside it, and does the clock there agree with ours. Asks what any browser would ask.
 */

import tls from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { bad, type Finding, good, odd } from './finding.ts'

const ASK_MS_MAX = 10_000
const ANSWER_LENGTH_MAX = 4_096
/** Certificates are renewed a month before their end: one that is nearer was forgotten. */
const CERTIFICATE_DAYS_MIN = 14
const DAY_MS = 86_400_000
/** Beyond this the page's countdown and the sale's opening differ for buyers. */
const CLOCK_MS_MAX = 1_000

interface FrontOptions {
  readonly publicUrl: string | undefined
  readonly clock: Clock
  /** A certificate authority beside those of the system. */
  readonly ca?: string
}

export async function checkFront({ publicUrl, clock, ca }: FrontOptions): Promise<readonly Finding[]> {
  // That it is not set, or not https, has been said.
  if (publicUrl === undefined) return []
  const url = new URL(publicUrl)
  if (url.protocol !== 'https:') return [await checkReached(publicUrl, clock)]
  return [
    await checkCertificate(url, clock, ca),
    await checkReached(publicUrl, clock),
    ...(url.port === '' ? [await checkClear(url, clock)] : []),
  ]
}

async function checkCertificate(url: URL, clock: Clock, ca: string | undefined): Promise<Finding> {
  const what = 'live: certificate'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const seen = await withDeadline(clock, ASK_MS_MAX, signal => certificateOf(host, Number(url.port || 443), ca, signal))
  if ('problem' in seen)
    return bad(what, `${url.host} takes no TLS connection (${seen.problem})`, 'start the proxy in front, with TLS')
  if (seen.refusal !== undefined)
    return bad(
      what,
      `browsers refuse it: ${seen.refusal}`,
      'get one for this name from a public authority, with its whole chain',
    )
  const days = Math.floor((seen.endsAtMs - clock.now()) / DAY_MS)
  const found = `ends in ${days} days`
  return days >= CERTIFICATE_DAYS_MIN
    ? good(what, found)
    : odd(what, found, 'renew it, and see why it was not renewed by itself')
}

type Seen = { readonly endsAtMs: number; readonly refusal: string | undefined } | { readonly problem: string }

function certificateOf(host: string, port: number, ca: string | undefined, signal: AbortSignal): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>()
  const socket = tls.connect({
    host,
    port,
    servername: /^[\d.]+$|:/.test(host) ? '' : host,
    // What is wrong with it is to be said, not only that something is.
    rejectUnauthorized: false,
    ...(ca !== undefined && { ca: [...tls.rootCertificates, ca] }),
  })
  const end = (seen: Seen) => {
    socket.destroy()
    resolve(seen)
  }
  socket.on('secureConnect', () => {
    const { valid_to: endsAt } = socket.getPeerCertificate()
    const why = socket.authorized ? undefined : String(socket.authorizationError ?? 'not trusted')
    end({ endsAtMs: Date.parse(endsAt), refusal: why })
  })
  socket.on('error', (error: NodeJS.ErrnoException) => end({ problem: error.code ?? error.message }))
  signal.addEventListener('abort', () => end({ problem: 'no answer in time' }), { once: true })
  return promise
}

async function checkReached(publicUrl: string, clock: Clock): Promise<Finding> {
  const what = 'live: the way to this shop'
  const url = `${publicUrl}/api/time`
  const sentMs = clock.now()
  const { status, text, why } = await ask(url, clock)
  if (status === undefined)
    return bad(what, `${url} can't be reached from here (${why})`, 'start the server; check DNS, firewall and proxy')
  const unixMs = timeIn(text)
  if (status !== 200 || unixMs === undefined)
    return bad(
      what,
      `${url} answers ${status}, and not as Stampede does`,
      'let the proxy pass everything on to the server, under the same path',
    )
  // Of the time that the answer took, half is the way back.
  const off = Math.abs(unixMs - (sentMs + clock.now()) / 2) - (clock.now() - sentMs) / 2
  if (off > CLOCK_MS_MAX)
    return odd(
      'live: clock',
      `the shop at ${publicUrl} differs from this machine by ${(off / 1000).toFixed(1)} s`,
      'synchronise both with NTP (chrony, systemd-timesyncd)',
    )
  return good(what, `${publicUrl} leads to Stampede; clocks agree`)
}

/** A buyer who types the address without https must not sign in in the clear. */
async function checkClear({ hostname }: URL, clock: Clock): Promise<Finding> {
  const what = 'live: without TLS'
  const { status, location } = await ask(`http://${hostname}/`, clock)
  if (status === undefined) return good(what, 'nothing answers on port 80')
  if (location?.startsWith('https:')) return good(what, 'port 80 leads to https')
  return bad(
    what,
    `http://${hostname}/ answers ${status}: pages and tokens travel in the clear`,
    'let port 80 redirect to https, as deploy/nginx does',
  )
}

async function ask(url: string, clock: Clock) {
  try {
    return await withDeadline(clock, ASK_MS_MAX, async signal => {
      const response = await fetch(url, { redirect: 'manual', signal })
      const text = (await response.text()).slice(0, ANSWER_LENGTH_MAX)
      return { status: response.status, text, location: response.headers.get('location') ?? undefined, why: '' }
    })
  } catch (error) {
    const why = error instanceof Error ? ((error as { code?: string }).code ?? error.name) : 'no answer'
    return { status: undefined, text: '', location: undefined, why }
  }
}

function timeIn(text: string): number | undefined {
  try {
    const { unixMs } = JSON.parse(text) as { unixMs?: unknown }
    return typeof unixMs === 'number' ? unixMs : undefined
  } catch {
    return undefined
  }
}
