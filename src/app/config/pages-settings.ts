/** The settings of the pre-rendered pages: where they are put, and what hears of a change (docs/static-pages.md). */

import { isAbsolute, normalize } from 'node:path'
import { z } from 'zod'
import { readKeyFile } from './key-file.ts'
import { hide, secureAddress, setting, type Texts, whole } from './setting.ts'

const hasFolder = (texts: Texts) => texts.PAGES_DIR !== undefined
const hasBucket = (texts: Texts) => texts.PAGES_S3_BUCKET !== undefined
const hasPages = (texts: Texts) => hasFolder(texts) || hasBucket(texts)
const needs = (name: string, what: string, has: (texts: Texts) => boolean) => (texts: Texts) =>
  has(texts) ? undefined : `${name} needs ${what}`

const isPath = (text: string) => isAbsolute(text) && !text.includes('\0')
const key = z.string().regex(/^[\x21-\x7e]{1,500}$/, 'must be 1 to 500 printable characters without spaces')

/** Keys and secrets: each also as `…_FILE`. */
const SECRETS = ['PAGES_S3_ACCESS_KEY', 'PAGES_S3_SECRET_KEY', 'PAGES_PURGE_TOKEN'] as const
type SecretName = (typeof SECRETS)[number]

const secretSetting = (name: SecretName, about: string) =>
  setting({ about: `${about} Or ${name}_FILE: a file that holds it, read at the start.`, schema: key, show: hide })

const secretFile = (name: SecretName) =>
  setting({
    about: `The file that holds ${name}.`,
    schema: z.string(),
    conflict: texts =>
      texts[name] === undefined ? undefined : `${name} and ${name}_FILE are both set: unset one of them`,
    missing: texts => {
      const file = texts[`${name}_FILE`]
      const read = file === undefined ? undefined : readKeyFile(file, key)
      return read !== undefined && 'problem' in read ? `${name}_FILE: ${read.problem}` : undefined
    },
  })

export const PAGES_SETTINGS = {
  PAGES_DIR: setting({
    about:
      'A folder for the pages of sales as files, with their data inside: what the shipped nginx serves. Written by the process that leads, on every change of a sale (docs/static-pages.md).',
    schema: z.string().refine(isPath, 'must be an absolute path').transform(normalize),
    conflict: texts =>
      hasBucket(texts)
        ? 'PAGES_DIR and PAGES_S3_BUCKET are both set: pages are put in one place; unset one of them'
        : undefined,
  }),
  PAGES_COMMAND: setting({
    about:
      'A program, with its arguments separated by spaces, that is run in PAGES_DIR after files have changed, without a shell; its standard input has a line for each: put or removed, and the path.',
    schema: z
      .string()
      .max(2_000, 'must have at most 2000 characters')
      .transform(text => text.trim().split(/\s+/))
      .refine(([program = '']) => isPath(program), 'must begin with the absolute path of a program'),
    conflict: needs('PAGES_COMMAND', 'PAGES_DIR: it is told of files in that folder', hasFolder),
    show: words => words?.join(' ') ?? null,
  }),
  PAGES_COMMAND_SECONDS: setting({
    about: 'A PAGES_COMMAND that takes longer is ended, and run again later.',
    schema: whole(1, 3_600),
    default: '60',
    applies: texts => texts.PAGES_COMMAND !== undefined,
  }),
  PAGES_S3_BUCKET: setting({
    about: 'A bucket for the pages instead of a folder, at S3 or a service that speaks its protocol.',
    schema: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket'),
    missing: texts => (hasBucket(texts) ? missingOfBucket(texts) : undefined),
  }),
  PAGES_S3_ENDPOINT: setting({
    about: 'Where the service is, as in https://s3.eu-central-1.amazonaws.com: without the bucket and a path.',
    schema: secureAddress.refine(text => URL.parse(text)?.pathname === '/', 'must be an address without a path'),
    conflict: needs('PAGES_S3_ENDPOINT', 'PAGES_S3_BUCKET', hasBucket),
  }),
  PAGES_S3_REGION: setting({
    about: 'The region that requests are signed for.',
    schema: z.string().regex(/^[a-z0-9-]{1,60}$/, 'must be the name of a region'),
    default: 'us-east-1',
    applies: hasBucket,
  }),
  PAGES_S3_ADDRESSING: setting({
    about:
      'path: the bucket is in the path of an address. host: it is the first part of the host, as some services demand.',
    schema: z.enum(['path', 'host'], 'must be path or host'),
    default: 'path',
    applies: hasBucket,
  }),
  PAGES_S3_PREFIX: setting({
    about: 'Before the key of every object, with a slash at its end. Unset: nothing.',
    schema: z
      .string()
      .regex(
        /^([A-Za-z0-9_-][A-Za-z0-9._-]*\/)+$/,
        'must be like shop/pages/: letters, digits, . _ -, and a slash at its end',
      )
      .max(200, 'must have at most 200 characters'),
    conflict: needs('PAGES_S3_PREFIX', 'PAGES_S3_BUCKET', hasBucket),
  }),
  PAGES_S3_ACCESS_KEY: secretSetting('PAGES_S3_ACCESS_KEY', 'The id of the key that may list, put and delete there.'),
  PAGES_S3_ACCESS_KEY_FILE: secretFile('PAGES_S3_ACCESS_KEY'),
  PAGES_S3_SECRET_KEY: secretSetting('PAGES_S3_SECRET_KEY', 'Its secret.'),
  PAGES_S3_SECRET_KEY_FILE: secretFile('PAGES_S3_SECRET_KEY'),
  PAGES_PURGE_URL: setting({
    about:
      'Where a CDN is told which addresses are out of date after pages have changed: POST {"files": [address, …]}, at most 30 in a call, as Cloudflare takes it. Needs PUBLIC_URL.',
    schema: secureAddress,
    conflict: needs('PAGES_PURGE_URL', 'PAGES_DIR or PAGES_S3_BUCKET', hasPages),
    missing: texts =>
      texts.PAGES_PURGE_URL !== undefined && texts.PUBLIC_URL === undefined
        ? 'PAGES_PURGE_URL needs PUBLIC_URL: it is told the addresses that buyers use'
        : undefined,
  }),
  PAGES_PURGE_TOKEN: secretSetting('PAGES_PURGE_TOKEN', 'Sent with it as a bearer token.'),
  PAGES_PURGE_TOKEN_FILE: secretFile('PAGES_PURGE_TOKEN'),
  PAGES_TIMEOUT_MS: setting({
    about: 'How long one call to the bucket or to PAGES_PURGE_URL may take.',
    schema: whole(100, 60_000),
    default: '10000',
    applies: hasPages,
  }),
}

function missingOfBucket(texts: Texts): string | undefined {
  if (texts.PAGES_S3_ENDPOINT === undefined) return 'PAGES_S3_BUCKET is set, which also needs PAGES_S3_ENDPOINT'
  const name = (['PAGES_S3_ACCESS_KEY', 'PAGES_S3_SECRET_KEY'] as const).find(
    one => texts[one] === undefined && texts[`${one}_FILE`] === undefined,
  )
  return name && `PAGES_S3_BUCKET is set, which also needs ${name} (or ${name}_FILE)`
}

type PagesValues = Readonly<Record<SecretName | `${SecretName}_FILE`, string | undefined>> & {
  readonly PAGES_DIR: string | undefined
  readonly PAGES_COMMAND: readonly string[] | undefined
  readonly PAGES_COMMAND_SECONDS: number
  readonly PAGES_S3_BUCKET: string | undefined
  readonly PAGES_S3_ENDPOINT: string | undefined
  readonly PAGES_S3_REGION: string
  readonly PAGES_S3_ADDRESSING: 'path' | 'host'
  readonly PAGES_S3_PREFIX: string | undefined
  readonly PAGES_PURGE_URL: string | undefined
  readonly PAGES_TIMEOUT_MS: number
  readonly PUBLIC_URL: string | undefined
}

/** Undefined: no pages are written as files. A server does not start while a part of a place is missing. */
export function pagesOf(values: PagesValues) {
  const secretOf = (name: SecretName) => {
    const file = values[`${name}_FILE`]
    const read = file === undefined ? { value: values[name] } : readKeyFile(file, key)
    return 'value' in read ? (read.value as string | undefined) : undefined
  }
  const { PAGES_DIR: folder, PAGES_COMMAND: words, PAGES_PURGE_URL: url, PUBLIC_URL: publicUrl } = values
  const s3 = bucketOf(values, secretOf)
  if (folder === undefined && s3 === undefined) return undefined
  const timeoutMs = values.PAGES_TIMEOUT_MS
  return {
    folder,
    s3,
    command: words && folder && { words, folder, timeoutMs: values.PAGES_COMMAND_SECONDS * 1000 },
    purge: url && publicUrl && { url, publicUrl, timeoutMs, token: secretOf('PAGES_PURGE_TOKEN') },
  }
}

function bucketOf(values: PagesValues, secretOf: (name: SecretName) => string | undefined) {
  const { PAGES_S3_BUCKET: bucket, PAGES_S3_ENDPOINT: endpoint } = values
  const [accessKey, secretKey] = [secretOf('PAGES_S3_ACCESS_KEY'), secretOf('PAGES_S3_SECRET_KEY')]
  if (bucket === undefined || endpoint === undefined || accessKey === undefined || secretKey === undefined)
    return undefined
  return {
    bucket,
    endpoint,
    accessKey,
    secretKey,
    region: values.PAGES_S3_REGION,
    addressing: values.PAGES_S3_ADDRESSING,
    prefix: values.PAGES_S3_PREFIX ?? '',
    timeoutMs: values.PAGES_TIMEOUT_MS,
  }
}
