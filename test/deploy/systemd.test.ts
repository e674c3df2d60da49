import { afterEach, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../../src/app/config/config.ts'
import { Playground } from '../harness/playground.ts'
import {
  commandIsKnown,
  configFrom,
  DEPLOY,
  ROLES,
  ROOT,
  read,
  readEnvFile,
  SECRET,
  stopSecondsMax,
} from './shipped.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const VERIFIER = '/usr/bin/systemd-analyze'
const EXPOSURE_MAX = 2
const units = readdirSync(join(DEPLOY, 'systemd'))
  .filter(name => name.endsWith('.service'))
  .toSorted()

/** `Section.Key` to its values, in order. */
function parse(name: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  let section = ''
  for (const line of read(`systemd/${name}`).split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const head = /^\[(\w+)\]$/.exec(line)?.[1]
    if (head !== undefined) {
      section = head
      continue
    }
    const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    expect(key, `${name}: ${line}`).not.toBe('')
    found.set(`${section}.${key}`, [...(found.get(`${section}.${key}`) ?? []), value])
  }
  return found
}

const example = readEnvFile('systemd/example.env')
const shared = Object.fromEntries(
  Object.entries(example).map(([name, value]) => [name, value.replace('CHANGE-ME', SECRET)]),
)

/** What the unit sets itself, for the instance on port 8081. */
const ownOf = (unit: Map<string, string[]>) =>
  Object.fromEntries(
    (unit.get('Service.Environment') ?? [])
      .flatMap(line => line.split(' '))
      .map(pair => pair.replace('%i', '8081').split('=') as [string, string]),
  )

test('every role has a unit whose process starts in that role, and one does everything', () => {
  expect(units).toEqual([...ROLES.map(role => `stampede-${role}@.service`), 'stampede.service'].toSorted())
  for (const role of ROLES) {
    const config = configFrom({ ...shared, ...ownOf(parse(`stampede-${role}@.service`)) })
    expect({ roles: config.roles, port: config.port }).toEqual({ roles: [role], port: 8081 })
  }
  const { DATABASE_URL, REDIS_URL, REDIS_DURABILITY, ...alone } = shared
  const config = configFrom({ ...alone, ...ownOf(parse('stampede.service')) })
  expect({ embedded: config.databaseUrl === undefined, dataDir: config.dataDir }).toEqual({
    embedded: true,
    dataDir: `/var/lib/${parse('stampede.service').get('Service.StateDirectory')?.[0]}`,
  })
})

test('nobody starts with the secrets of the example', () => {
  expect(() => configFrom({ ...example, ROLES: 'edge' })).toThrow(ConfigError)
})

test('each runs the command that there is, comes back when it dies, and gets the time it needs to stop', () => {
  for (const name of units) {
    const unit = parse(name)
    const [node, script, ...words] = (unit.get('Service.ExecStart')?.[0] ?? '').split(' ')
    expect(node).toBe('/usr/bin/node')
    const folder = unit.get('Service.WorkingDirectory')?.[0] ?? ''
    expect(existsSync((script ?? '').replace(folder, ROOT))).toBe(true)
    commandIsKnown(words)
    const config = configFrom({ ...shared, ...ownOf(unit) })
    expect(Number(unit.get('Service.TimeoutStopSec')?.[0])).toBeGreaterThan(stopSecondsMax(config))
    expect(unit.get('Service.Restart')).toEqual(['always'])
    // However often it ended at its start: PostgreSQL may be away for longer than five tries.
    expect(unit.get('Unit.StartLimitIntervalSec'), name).toEqual(['0'])
    expect(unit.get('Service.KillMode')).toEqual(['mixed'])
    expect(Number(unit.get('Service.LimitNOFILE')?.[0])).toBeGreaterThanOrEqual(65_536)
    expect(unit.get('Service.EnvironmentFile')).toEqual(['/etc/stampede/stampede.env'])
  }
})

/** The command that is installed beside the units, on this checkout and with these settings, as whoever we are. */
function command(settings: string | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-command-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'stampede.env')
  if (settings !== undefined) writeFileSync(file, settings)
  const unit = parse('stampede.service')
  const user = unit.get('Service.User')?.[0]
  const there = [
    [unit.get('Service.EnvironmentFile')?.[0] ?? '', file],
    [`runuser -u ${user} -- `, ''],
    ['/usr/bin/node', Bun.which('node') ?? ''],
    [`cd ${unit.get('Service.WorkingDirectory')?.[0]}\n`, `cd ${ROOT}\n`],
    [`${unit.get('Service.WorkingDirectory')?.[0]}/bin/`, `${ROOT}/bin/`],
    [`DATA_DIR=/var/lib/${unit.get('Service.StateDirectory')?.[0]}\n`, `DATA_DIR=${folder}\n`],
  ] as const
  const script = there.reduce((text, [shipped, here]) => {
    expect(text.split(shipped), shipped).toHaveLength(2)
    return text.replace(shipped, here)
  }, read('systemd/stampede'))
  const path = join(folder, 'stampede')
  writeFileSync(path, script, { mode: 0o755 })
  return (...args: string[]) =>
    spawnSync(path, args, { cwd: tmpdir(), encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } })
}

test('the command that is installed with them has their settings, letter by letter', () => {
  expect(statSync(join(DEPLOY, 'systemd/stampede')).mode & 0o111).toBe(0o111)
  const odd = [
    '# a comment',
    '; another',
    '',
    `DATABASE_URL=postgres://me:$HOME\`id\`@127.0.0.1:1/x?a=1&b='2'`,
    'RATE_PER_ADDRESS=100/1s burst 20',
    'PUBLIC_URL="https://sale.example.com"',
    `BUYER_JWT_SECRET='${SECRET} # and more'`,
    'PORT=8099',
  ]
  const run = command(`${odd.join('\n')}`)
  const asked = run('config', '--json')
  expect({ code: asked.status, err: asked.stderr }).toEqual({ code: 0, err: '' })
  const config = JSON.parse(asked.stdout) as Record<string, unknown>
  expect(config).toMatchObject({
    PUBLIC_URL: 'https://sale.example.com',
    PORT: 8099,
    RATE_PER_ADDRESS: '100/1s burst 20',
  })
  expect(String(JSON.stringify(config))).toContain('127.0.0.1:1/x')
  const sale = run('sale', 'show', '1', '--server', 'http://127.0.0.1:1')
  expect({ code: sale.status, said: sale.stderr }).toEqual({
    code: 1,
    said: expect.stringContaining('no server answers'),
  })
})

test('the command says in one line what it can not read', () => {
  for (const [settings, words] of [
    [undefined, 'run this as root'],
    ['PORT=80\\\n81\n', 'PORT has a backslash'],
  ] as const) {
    const { status, stdout, stderr } = command(settings)('doctor')
    expect({ status, stdout, lines: stderr.split('\n').length }).toEqual({ status: 1, stdout: '', lines: 2 })
    expect(stderr).toContain(words)
  }
})

test('what the page says to install is there, and nothing of it is left out', () => {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  const lines = page.split('**systemd**')[1]?.split('**nginx**')[0] ?? ''
  const named = Array.from(lines.matchAll(/deploy\/systemd\/([\w.*]+)/g), match => match[1] ?? '')
  const files = readdirSync(join(DEPLOY, 'systemd'))
  const form = (name: string) => new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
  for (const name of named)
    expect(
      files.some(file => form(name).test(file)),
      name,
    ).toBe(true)
  for (const file of files)
    expect(
      named.some(name => form(name).test(file)),
      file,
    ).toBe(true)
})

test('each runs as its own user with little it may do, and may compile its JavaScript', () => {
  for (const name of units) {
    const unit = parse(name)
    expect(unit.get('Service.User')).toEqual(['stampede'])
    expect(unit.get('Service.CapabilityBoundingSet')).toEqual([''])
    for (const key of ['NoNewPrivileges', 'PrivateTmp', 'PrivateDevices', 'ProtectHome', 'RestrictNamespaces'])
      expect(unit.get(`Service.${key}`), `${name}: ${key}`).toEqual(['yes'])
    expect(unit.get('Service.ProtectSystem')).toEqual(['strict'])
    expect(unit.get('Service.MemoryDenyWriteExecute')).toBeUndefined()
  }
})

// Only where systemd's own verifier is installed; the tests above do without it.
test.if(existsSync(VERIFIER))('systemd itself has nothing to say against any of them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-units-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of units) {
    const path = join(folder, name.replace('@', '@8081'))
    // A program that is there; it is not run.
    writeFileSync(path, read(`systemd/${name}`).replace('/usr/bin/node', process.execPath))
    const ask = (...args: string[]) => spawnSync(VERIFIER, [...args, path], { encoding: 'utf8' })
    const verified = ask('verify', '--man=no')
    expect({ name, status: verified.status, said: verified.stderr }).toEqual({ name, status: 0, said: '' })
    const exposure = /exposure level for \S+: ([\d.]+)/.exec(ask('security', '--offline=true').stdout)?.[1]
    expect(Number(exposure)).toBeLessThanOrEqual(EXPOSURE_MAX)
  }
})
