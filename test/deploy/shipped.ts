/** What the files of deploy/ may rely on, as the code itself has it: settings, commands, a configuration that a process would start with. */

import { expect } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseTicketKeys } from '../../src/admission/ticket.ts'
import { type Config, readConfig } from '../../src/app/config/config.ts'
import { SETTINGS } from '../../src/app/config/settings.ts'
import type { Playground } from '../harness/playground.ts'
import { PROGRAM } from '../harness/program.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
export const DEPLOY = join(ROOT, 'deploy')

/** What a process of a cluster can do. */
export const ROLES = SETTINGS.ROLES.schema.parse('all')

export const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8')

/** Bun's own, for a file system that is read only; and where the command line finds a server. */
const NOT_OURS = new Set(['BUN_RUNTIME_TRANSPILER_CACHE_PATH', 'MIMALLOC_PURGE_DELAY', 'STAMPEDE_SERVER'])

const isBuilt = (name: string) => name in SETTINGS && SETTINGS[name as keyof typeof SETTINGS].built !== false

/** Names that no process of ours reads: a slip of the pen, or a setting that has gone. */
export const unknownSettings = (names: Iterable<string>): string[] =>
  [...names].filter(name => !isBuilt(name) && !NOT_OURS.has(name))

/** As a process would at its start: every name known, every value good, tickets can be signed. */
export function configFrom(environment: Readonly<Record<string, string>>): Config {
  expect(unknownSettings(Object.keys(environment))).toEqual([])
  const config = readConfig(environment)
  parseTicketKeys(config.ticketKeys ?? 'kept:made-at-the-first-start-0123456789')
  return config
}

/** The program knows this command: it can say what it is for. */
export function commandIsKnown(words: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words, '--help'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  expect({ words, status, stderr }).toEqual({ words, status: 0, stderr: '' })
  expect(stdout).toContain(`Usage: stampede ${words.filter(word => !word.startsWith('-')).join(' ')}`)
}

/** The folder that "stampede page build" writes for nginx. */
export function buildPage(playground: Playground): string {
  const page = mkdtempSync(join(tmpdir(), 'stampede-page-'))
  playground.onUndo(() => rmSync(page, { recursive: true, force: true }))
  const built = spawnSync(process.execPath, ['src/main.ts', 'page', 'build', '--out', page], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  expect({ code: built.status, err: built.stderr }).toEqual({ code: 0, err: '' })
  return page
}

/** Lines `NAME=value`, as Docker and systemd read them. */
export function readEnvFile(path: string): Record<string, string> {
  const lines = read(path)
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map(line => {
      const [, name = '', value = ''] = /^([A-Z_]+)=(.*)$/.exec(line) ?? []
      expect(name, line).not.toBe('')
      return [name, value]
    }),
  )
}

/** A stop takes up to this long: requests in flight, then what is given back, each bounded by DRAIN_SECONDS (`app/start/lifecycle.ts`). */
export const stopSecondsMax = (config: Config): number => (2 * config.drainMs) / 1000

export const SECRET = 'a-secret-of-the-tests-only-0123456789abcdef'
