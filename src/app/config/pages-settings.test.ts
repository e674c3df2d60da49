import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const BUCKET = {
  PAGES_S3_BUCKET: 'pages',
  PAGES_S3_ENDPOINT: 'https://s3.example.com',
  PAGES_S3_ACCESS_KEY: 'the-access-key',
  PAGES_S3_SECRET_KEY: 'the-secret-key',
}

test('without a place no pages are written', () => {
  expect(readConfig({}).pages).toBeUndefined()
})

test('a folder, with a program and a purge', () => {
  const { pages, shown } = readConfig({
    PUBLIC_URL: 'https://sale.example.com/',
    PAGES_DIR: '/var/www/../www/stampede',
    PAGES_COMMAND: ' /usr/bin/rclone  sync . bucket:pages ',
    PAGES_COMMAND_SECONDS: '5',
    PAGES_PURGE_URL: 'https://cdn.example.com/purge',
    PAGES_PURGE_TOKEN: 'the-purge-token',
  })
  expect(pages).toEqual({
    folder: '/var/www/stampede',
    s3: undefined,
    command: {
      words: ['/usr/bin/rclone', 'sync', '.', 'bucket:pages'],
      folder: '/var/www/stampede',
      timeoutMs: 5_000,
    },
    purge: {
      url: 'https://cdn.example.com/purge',
      publicUrl: 'https://sale.example.com',
      timeoutMs: 10_000,
      token: 'the-purge-token',
    },
  })
  expect(JSON.stringify(shown)).not.toContain('the-purge-token')
})

test('a bucket, with its keys from the environment or from files, which are never shown', () => {
  const file = join(folder, 'secret')
  writeFileSync(file, 'from-a-file\n')
  const { PAGES_S3_SECRET_KEY: _, ...rest } = BUCKET
  for (const [given, secretKey] of [
    [BUCKET, 'the-secret-key'],
    [{ ...rest, PAGES_S3_SECRET_KEY_FILE: file }, 'from-a-file'],
  ] as const) {
    const { pages, shown } = readConfig(given)
    expect(pages?.s3).toMatchObject({ bucket: 'pages', accessKey: 'the-access-key', secretKey, prefix: '' })
    expect(JSON.stringify(shown)).not.toMatch(/the-access-key|the-secret-key|from-a-file/)
  }
})

test('what can not work stops the start with one line that names it', () => {
  const { PAGES_S3_SECRET_KEY: _, ...noSecret } = BUCKET
  const { PAGES_S3_ENDPOINT: __, ...noEndpoint } = BUCKET
  const wrong = [
    [{ PAGES_DIR: 'pages' }, 'PAGES_DIR: must be an absolute path'],
    [{ ...BUCKET, PAGES_DIR: '/x' }, 'PAGES_DIR and PAGES_S3_BUCKET are both set'],
    [{ PAGES_COMMAND: '/bin/true' }, 'PAGES_COMMAND needs PAGES_DIR'],
    [{ PAGES_DIR: '/x', PAGES_COMMAND: 'true; rm' }, 'PAGES_COMMAND: must begin with the absolute path'],
    [noSecret, 'needs PAGES_S3_SECRET_KEY (or PAGES_S3_SECRET_KEY_FILE)'],
    [noEndpoint, 'needs PAGES_S3_ENDPOINT'],
    [{ ...BUCKET, PAGES_S3_ENDPOINT: 'http://s3.example.com' }, 'PAGES_S3_ENDPOINT: must be an https address'],
    [{ ...BUCKET, PAGES_S3_ENDPOINT: 'https://s3.example.com/pages' }, 'PAGES_S3_ENDPOINT: must be an address without'],
    [{ ...BUCKET, PAGES_S3_PREFIX: '../' }, 'PAGES_S3_PREFIX: must be like'],
    [{ ...BUCKET, PAGES_S3_BUCKET: 'a/b' }, 'PAGES_S3_BUCKET: must be the name of a bucket'],
    [{ ...BUCKET, PAGES_S3_SECRET_KEY_FILE: '/x' }, 'are both set'],
    [{ ...noSecret, PAGES_S3_SECRET_KEY_FILE: join(folder, 'nothing') }, 'PAGES_S3_SECRET_KEY_FILE: '],
    [{ PAGES_PURGE_URL: 'https://cdn.example.com' }, 'PAGES_PURGE_URL needs PAGES_DIR or PAGES_S3_BUCKET'],
    [{ PAGES_DIR: '/x', PAGES_PURGE_URL: 'https://cdn.example.com' }, 'PAGES_PURGE_URL needs PUBLIC_URL'],
  ] as const
  for (const [given, line] of wrong) expect(() => readConfig(given as Record<string, string>), line).toThrow(line)
})
