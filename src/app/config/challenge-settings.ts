/**
 * The settings of a challenge provider: what takes the place of the proof of work wherever a sale's `challenge` is on. Addresses and the hosts
 * that a browser must be allowed to load from are the provider's own, and declared here.
 */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { ChallengeProvider } from '../../admission/challenges.ts'
import { hide, list, secureAddress, setting, type Texts, whole } from './setting.ts'

/** Where each provider verifies, where its script is, and the hosts that its documentation names for a security policy. */
const PROVIDERS = {
  turnstile: {
    verify: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
    script: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
    hosts: ['https://challenges.cloudflare.com'],
  },
  hcaptcha: {
    verify: 'https://api.hcaptcha.com/siteverify',
    script: 'https://js.hcaptcha.com/1/api.js',
    hosts: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
  },
} as const
type ProviderName = keyof typeof PROVIDERS

const SECRET_FILE_LENGTH_MAX = 4096
const key = z.string().regex(/^[\x21-\x7e]{8,500}$/, 'must be 8 to 500 printable characters without spaces')
const hasProvider = (texts: Texts) => texts.CHALLENGE_PROVIDER !== undefined
const needsProvider = (name: string) => (texts: Texts) =>
  hasProvider(texts) ? undefined : `${name} needs CHALLENGE_PROVIDER: without it challenges are proofs of work`
const ofProvider = (texts: Texts, what: 'verify' | 'script') => {
  const name = texts.CHALLENGE_PROVIDER
  return name !== undefined && Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name as ProviderName][what] : undefined
}

export const CHALLENGE_SETTINGS = {
  CHALLENGE_PROVIDER: setting({
    about:
      "turnstile (Cloudflare) or hcaptcha: its widget takes the place of the proof of work wherever a sale's challenge is on. Unset: the proof of work. See docs/abuse.md.",
    schema: z.enum(Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]], 'must be turnstile or hcaptcha'),
    missing: texts => (hasProvider(texts) ? missingOfProvider(texts) : undefined),
  }),
  CHALLENGE_SITE_KEY: setting({
    about: "The widget's site key, as the provider gave it. It is no secret: every page has it.",
    schema: key,
    conflict: needsProvider('CHALLENGE_SITE_KEY'),
  }),
  CHALLENGE_SECRET: setting({
    about:
      "The provider's secret key, which goes with every check. Or CHALLENGE_SECRET_FILE: a file that holds it, read at the start.",
    schema: key,
    conflict: needsProvider('CHALLENGE_SECRET'),
    show: hide,
  }),
  CHALLENGE_SECRET_FILE: setting({
    about: 'The file that holds CHALLENGE_SECRET.',
    schema: z.string(),
    conflict: texts =>
      texts.CHALLENGE_SECRET === undefined
        ? needsProvider('CHALLENGE_SECRET_FILE')(texts)
        : 'CHALLENGE_SECRET and CHALLENGE_SECRET_FILE are both set: unset one of them',
  }),
  CHALLENGE_HOSTNAMES: setting({
    about:
      'Hosts, separated by commas, on whose pages the widget may have been solved. Unset: the host of PUBLIC_URL. The provider says on which it was.',
    schema: list.refine(
      hosts => hosts.every(host => /^[a-z0-9.-]{1,253}$/.test(host)),
      'must be host names like sale.example.com, separated by commas, without a port',
    ),
    unset: texts => URL.parse(texts.PUBLIC_URL ?? '')?.hostname,
    applies: hasProvider,
  }),
  CHALLENGE_VERIFY_URL: setting({
    about:
      "Where the provider verifies (its siteverify address); another than the provider's own only for tests and proxies.",
    schema: secureAddress,
    unset: texts => ofProvider(texts, 'verify'),
    conflict: needsProvider('CHALLENGE_VERIFY_URL'),
  }),
  CHALLENGE_SCRIPT_URL: setting({
    about: "The widget's script; another than the provider's own only for tests and proxies.",
    schema: secureAddress,
    unset: texts => ofProvider(texts, 'script'),
    conflict: needsProvider('CHALLENGE_SCRIPT_URL'),
  }),
  CHALLENGE_TIMEOUT_MS: setting({
    about: 'How long one check at the provider may take.',
    schema: whole(100, 60_000),
    default: '2000',
    applies: hasProvider,
  }),
  CHALLENGE_WHEN_DOWN: setting({
    about:
      'What a buyer gets while the provider does not answer: deny (no ticket, 503 busy, and the page asks again) or allow (a ticket unchecked, counted).',
    schema: z.enum(['deny', 'allow'], 'must be deny or allow'),
    default: 'deny',
    applies: hasProvider,
  }),
}

function missingOfProvider(texts: Texts): string | undefined {
  if (texts.CHALLENGE_SITE_KEY === undefined) return 'CHALLENGE_PROVIDER is set, which also needs CHALLENGE_SITE_KEY'
  if (texts.CHALLENGE_HOSTNAMES === undefined)
    return 'CHALLENGE_PROVIDER is set, which also needs PUBLIC_URL (or CHALLENGE_HOSTNAMES): a widget solved on another site must not count'
  if (texts.CHALLENGE_SECRET !== undefined) return undefined
  const file = texts.CHALLENGE_SECRET_FILE
  if (file === undefined)
    return 'CHALLENGE_PROVIDER is set, which also needs CHALLENGE_SECRET (or CHALLENGE_SECRET_FILE)'
  const read = readSecret(file)
  return 'problem' in read ? `CHALLENGE_SECRET_FILE: ${read.problem}` : undefined
}

/** Never says what is in the file. */
function readSecret(file: string): { readonly value: string } | { readonly problem: string } {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text.length > SECRET_FILE_LENGTH_MAX) return { problem: `${file} is too large for a key` }
    const parsed = key.safeParse(text)
    return parsed.success
      ? { value: parsed.data }
      : { problem: `what ${file} holds ${parsed.error.issues[0]?.message}` }
  } catch (error) {
    return { problem: `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})` }
  }
}

interface ChallengeValues {
  readonly CHALLENGE_PROVIDER: ProviderName | undefined
  readonly CHALLENGE_SITE_KEY: string | undefined
  readonly CHALLENGE_SECRET: string | undefined
  readonly CHALLENGE_SECRET_FILE: string | undefined
  readonly CHALLENGE_HOSTNAMES: readonly string[] | undefined
  readonly CHALLENGE_VERIFY_URL: string | undefined
  readonly CHALLENGE_SCRIPT_URL: string | undefined
  readonly CHALLENGE_TIMEOUT_MS: number
  readonly CHALLENGE_WHEN_DOWN: 'deny' | 'allow'
}

/** Undefined: challenges are proofs of work. A server does not start while a part of it is missing. */
export function challengeProviderOf(values: ChallengeValues): ChallengeProvider | undefined {
  const name = values.CHALLENGE_PROVIDER
  const { CHALLENGE_SITE_KEY: siteKey, CHALLENGE_HOSTNAMES: hostnames, CHALLENGE_SECRET_FILE: file } = values
  if (name === undefined || siteKey === undefined || hostnames === undefined) return undefined
  const read = file === undefined ? { value: values.CHALLENGE_SECRET } : readSecret(file)
  const secret = 'value' in read ? read.value : undefined
  if (secret === undefined) return undefined
  const own = PROVIDERS[name]
  const script = values.CHALLENGE_SCRIPT_URL ?? own.script
  return {
    name,
    siteKey,
    secret,
    hostnames,
    verifyUrl: values.CHALLENGE_VERIFY_URL ?? own.verify,
    script,
    // Exactly the provider's hosts, or the one that the script was moved to.
    hosts: script === own.script ? own.hosts : [new URL(script).origin],
    timeoutMs: values.CHALLENGE_TIMEOUT_MS,
    whenDown: values.CHALLENGE_WHEN_DOWN,
  }
}
