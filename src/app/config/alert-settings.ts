/** The settings of alerts: where people are told that a trouble has begun or is over (docs/operating.md). The addresses hold secrets. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseAddressRules } from '../../webhooks/address-rules.ts'
import { targetRefusal } from '../../webhooks/target.ts'
import { readKeyFile } from './key-file.ts'
import { hide, list, parsedBy, setting, type Texts, whole } from './setting.ts'

const ALLOW_PRIVATE = 'ALERT_ALLOW_PRIVATE'
const parseRules = (text: string) => parseAddressRules(text, ALLOW_PRIVATE)

const ADDRESSES_MAX = 20
const SMTP_PORT = 587
const SMTPS_PORT = 465
const SMTP_FORM = 'must look like smtp://user:password@mail.example:587 or smtps://user:password@mail.example'
const HERE = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Without line breaks: a name cannot add a header. */
const MAILBOX = /^(?:[^<>\p{C}]{1,100} <[^\s<>@,]{1,64}@[^\s<>@,]{1,190}>|[^\s<>@,]{1,64}@[^\s<>@,]{1,190})$/u

const webAddress = z.url({ protocol: /^https?$/, error: 'must be an http(s) address' })
const signingKey = z.string().regex(/^whsec_(?:[A-Za-z0-9+/]{4}){8,22}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, {
  error: 'must be whsec_ and 24 to 64 random bytes in base64, as in: echo whsec_$(openssl rand -base64 32)',
})
const smtpAddress = parsedBy(parseSmtp)

/** Those that may be in a file: each address may be a secret by itself. */
const SECRETS = {
  ALERT_WEBHOOK_URL: webAddress,
  ALERT_WEBHOOK_SECRET: signingKey,
  ALERT_SLACK_URL: webAddress,
  ALERT_SMTP_URL: smtpAddress,
} as const
type SecretName = keyof typeof SECRETS

const has = (texts: Texts, name: SecretName) => texts[name] !== undefined || texts[`${name}_FILE`] !== undefined
const hasUrl = (texts: Texts) => has(texts, 'ALERT_WEBHOOK_URL') || has(texts, 'ALERT_SLACK_URL')
const hasMail = (texts: Texts) => texts.ALERT_EMAIL_TO !== undefined
const hasAny = (texts: Texts) => hasUrl(texts) || hasMail(texts)

function secretSetting<S extends z.ZodType>(name: SecretName, schema: S, about: string) {
  return setting({
    about: `${about} Or ${name}_FILE: a file that holds it, read at the start.`,
    schema,
    missing: texts => problemOf(name, texts),
    show: hide,
  })
}

const fileSetting = (name: SecretName) =>
  setting({
    about: `The file that holds ${name}.`,
    schema: z.string(),
    conflict: texts =>
      texts[name] === undefined ? undefined : `${name} and ${name}_FILE are both set: unset one of them`,
  })

export const ALERT_SETTINGS = {
  ALERT_WEBHOOK_URL: secretSetting(
    'ALERT_WEBHOOK_URL',
    webAddress,
    'Told by POST, as JSON, when a trouble begins and when it is over (docs/operating.md).',
  ),
  ALERT_WEBHOOK_URL_FILE: fileSetting('ALERT_WEBHOOK_URL'),
  ALERT_WEBHOOK_SECRET: secretSetting(
    'ALERT_WEBHOOK_SECRET',
    signingKey,
    'What messages to ALERT_WEBHOOK_URL are signed with, as webhooks are (Standard Webhooks). Unset: they are not signed.',
  ),
  ALERT_WEBHOOK_SECRET_FILE: fileSetting('ALERT_WEBHOOK_SECRET'),
  ALERT_SLACK_URL: secretSetting(
    'ALERT_SLACK_URL',
    webAddress,
    'An incoming webhook of Slack, or of a program that takes the same: {"text": …}.',
  ),
  ALERT_SLACK_URL_FILE: fileSetting('ALERT_SLACK_URL'),
  ALERT_EMAIL_TO: setting({
    about: 'Who is told by e-mail: up to 20 addresses, separated by commas. Needs ALERT_SMTP_URL and ALERT_EMAIL_FROM.',
    schema: list.refine(
      addresses => addresses.length <= ADDRESSES_MAX && addresses.every(address => MAILBOX.test(address)),
      `must be at most ${ADDRESSES_MAX} e-mail addresses, separated by commas`,
    ),
    missing: texts => {
      if (!hasMail(texts)) return undefined
      if (!has(texts, 'ALERT_SMTP_URL'))
        return 'ALERT_EMAIL_TO needs ALERT_SMTP_URL (or ALERT_SMTP_URL_FILE): the mail server that takes the messages'
      return texts.ALERT_EMAIL_FROM === undefined
        ? 'ALERT_EMAIL_TO needs ALERT_EMAIL_FROM: the address that messages come from'
        : undefined
    },
  }),
  ALERT_EMAIL_FROM: setting({
    about: 'Who e-mails come from: alerts@shop.example, or Stampede <alerts@shop.example>.',
    schema: z.string().regex(MAILBOX, 'must be an e-mail address, or a name with one in <>'),
    applies: hasMail,
  }),
  ALERT_SMTP_URL: secretSetting(
    'ALERT_SMTP_URL',
    smtpAddress,
    'The mail server: smtps://user:password@host (TLS, port 465) or smtp://user:password@host (STARTTLS, port 587). Without TLS only on this machine, or with ?tls=off, and then never with a password.',
  ),
  ALERT_SMTP_URL_FILE: fileSetting('ALERT_SMTP_URL'),
  ALERT_SMTP_CA: setting({
    about: 'A file with the certificate authority (PEM) of a mail server that no public one vouches for.',
    schema: parsedBy(readAuthority),
    applies: hasMail,
    show: value => (value === undefined ? null : value.file),
  }),
  ALERT_REPEAT_SECONDS: setting({
    about: 'A trouble that comes and goes is told again only so long after it was last told.',
    schema: whole(10, 86_400),
    default: '900',
    applies: hasAny,
    show: Number,
  }),
  ALERT_TIMEOUT_MS: setting({
    about: 'How long one try to tell a channel may take, in milliseconds. One that fails is tried again for a day.',
    schema: whole(100, 60_000),
    default: '10000',
    applies: hasAny,
    show: Number,
  }),
  ALERT_ALLOW_PRIVATE: setting({
    about:
      'Whether ALERT_WEBHOOK_URL and ALERT_SLACK_URL may lead to addresses that are not public: off, on, or only these networks, separated by commas (10.0.0.0/8). There also without TLS; public addresses need https.',
    schema: parsedBy(parseRules),
    default: 'off',
    applies: hasUrl,
    show: rules => rules?.allowed ?? null,
  }),
}

/** Why a server does not start with it; never what a file or an address holds. */
function problemOf(name: SecretName, texts: Texts): string | undefined {
  const file = texts[`${name}_FILE`]
  const read = file === undefined ? { value: texts[name] } : readKeyFile(file, SECRETS[name])
  if ('problem' in read) return `${name}_FILE: ${read.problem}`
  if (name === 'ALERT_WEBHOOK_SECRET' && read.value !== undefined && !has(texts, 'ALERT_WEBHOOK_URL'))
    return 'ALERT_WEBHOOK_SECRET only means something with ALERT_WEBHOOK_URL'
  if ((name !== 'ALERT_WEBHOOK_URL' && name !== 'ALERT_SLACK_URL') || read.value === undefined) return undefined
  const refusal = targetRefusal(String(read.value), parseRules(texts[ALLOW_PRIVATE] ?? 'off'))
  return refusal && `${name}: ${refusal}`
}

function parseSmtp(text: string) {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) throw new Error(SMTP_FORM)
  if (url.hostname === '' || !/^\/?$/.test(url.pathname) || url.hash !== '') throw new Error(SMTP_FORM)
  if (url.search !== '' && url.search !== '?tls=off') throw new Error(`${SMTP_FORM}; behind ? only tls=off`)
  const secure = url.protocol === 'smtps:'
  const password = decoded(url.password)
  const plain = !secure && (url.search !== '' || HERE.has(url.hostname))
  if (plain && password !== undefined && !HERE.has(url.hostname))
    throw new Error('must not hold a password together with tls=off: it would travel in plain text')
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? SMTPS_PORT : SMTP_PORT) : Number(url.port),
    secure,
    plain,
    user: decoded(url.username),
    password,
  }
}

function decoded(text: string): string | undefined {
  if (text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error(`${SMTP_FORM}; special characters of the password percent-encoded (% is %25)`)
  }
}

function readAuthority(file: string) {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file} can't be read (${(error as NodeJS.ErrnoException).code ?? error})`)
  }
  if (!/-----BEGIN [A-Z ]*CERTIFICATE-----/.test(text)) throw new Error(`there is no certificate (PEM) in ${file}`)
  return { file, text }
}

type AlertValues = {
  readonly [Name in SecretName]: z.output<(typeof SECRETS)[Name]> | undefined
} & Readonly<Record<`${SecretName}_FILE`, string | undefined>> & {
    readonly ALERT_EMAIL_TO: readonly string[] | undefined
    readonly ALERT_EMAIL_FROM: string | undefined
    readonly ALERT_SMTP_CA: { readonly text: string } | undefined
    readonly ALERT_REPEAT_SECONDS: number
    readonly ALERT_TIMEOUT_MS: number
    readonly ALERT_ALLOW_PRIVATE: ReturnType<typeof parseRules>
  }

/** What is undefined is not told. */
export function alertsOf(values: AlertValues) {
  function secretOf<N extends SecretName>(name: N): AlertValues[N] {
    const file = values[`${name}_FILE`]
    const read = file === undefined ? { value: values[name] } : readKeyFile(file, SECRETS[name])
    return ('value' in read ? read.value : undefined) as AlertValues[N]
  }
  const { ALERT_EMAIL_TO: to, ALERT_EMAIL_FROM: from, ALERT_SMTP_CA: ca } = values
  const server = secretOf('ALERT_SMTP_URL')
  return {
    webhook: secretOf('ALERT_WEBHOOK_URL'),
    webhookSecret: secretOf('ALERT_WEBHOOK_SECRET'),
    slack: secretOf('ALERT_SLACK_URL'),
    mail:
      to === undefined || from === undefined || server === undefined ? undefined : { to, from, server, ca: ca?.text },
    repeatMs: values.ALERT_REPEAT_SECONDS * 1000,
    timeoutMs: values.ALERT_TIMEOUT_MS,
    rules: values.ALERT_ALLOW_PRIVATE,
  }
}
