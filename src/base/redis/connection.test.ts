import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../clock.ts'
import { connect, hearingLog, PATIENT_MS } from './connection.fixture.ts'
import { openRedis } from './connection.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** Where every word of the log counts: nothing is called away because the machine stood still for a moment. */
const patient = { timeoutMs: PATIENT_MS, durability: 'disk', replicas: 0 } as const

test('a server that is not there yet is waited for in the background; until then every call fails at once, unsent', async () => {
  const server = await startRedis(playground)
  await server.stop()
  const log = hearingLog()
  const connection = openRedis({ url: server.url, clock: systemClock, log, ...patient })
  playground.onUndo(() => connection.close())
  expect(connection.connected()).toBe(false)
  await expect(connection.command(['PING'])).rejects.toMatchObject({ code: 'redis_away', outcomeUnknown: false })
  await until('it to be said', () => /redis is away/.test(log.text()))
  await server.start()
  await until('a connection', () => connection.connected())
  expect(await connection.command(['PING'])).toBe('PONG')
  expect(log.text().match(/redis is away/g)).toHaveLength(1)
})

test('a password is never written down, right or wrong', async () => {
  const server = await startRedis(playground)
  await server.command('CONFIG', 'SET', 'requirepass', 'right-secret')
  const log = hearingLog()
  const at = (password: string) => server.url.replace('//', `//:${password}@`)
  const open = (url: string) =>
    openRedis({ url, clock: systemClock, log, timeoutMs: 500, durability: 'disk', replicas: 0 })
  const wrong = open(at('wrong-secret'))
  playground.onUndo(() => wrong.close())
  await until('a refusal', () => log.text().includes('WRONGPASS'))
  const error: unknown = await wrong.command(['PING']).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'redis_away' })
  const right = await connect(playground, at('right-secret'))
  expect(await right.command(['PING'])).toBe('PONG')
  const refused: unknown = await right.command(['NONSENSE']).catch((reason: unknown) => reason)
  for (const url of ['http://:wrong-secret@x', ':wrong-secret', 'redis://:wrong-secret@x/y'])
    expect(String(await Promise.try(open, url).catch((reason: unknown) => reason))).not.toContain('secret')
  expect([log.text(), String(error), String(refused), JSON.stringify(refused)].join()).not.toContain('secret')
})

test('a server that asks for a password we do not have refuses, and nothing was done', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, server.url)
  await server.command('CONFIG', 'SET', 'requirepass', 'x')
  connection.command(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no']).catch(() => {})
  await until('the connection to be gone', () => !connection.connected())
  await expect(connection.command(['PING'])).rejects.toMatchObject({ name: 'Fault', outcomeUnknown: false })
})

test('what is listened to is heard again after a reconnect, and the gap is told, once per reconnect', async () => {
  const server = await startRedis(playground)
  const connection = await connect(playground, `${server.url}/2`)
  expect(connection.database).toBe(2)
  const heard: string[] = []
  let gaps = 0
  await connection.subscribe(
    'news',
    text => heard.push(text),
    () => {
      gaps += 1
    },
  )
  await server.command('PUBLISH', 'news', 'one')
  await until('the first message', () => heard.length === 1)
  expect(gaps).toBe(0)
  for (const round of [1, 2]) {
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until('the gap to be told', () => gaps === round)
    await server.command('PUBLISH', 'news', `again ${round}`)
    await until('the next message', () => heard.length === round + 1)
  }
  expect(heard).toEqual(['one', 'again 1', 'again 2'])
  expect(gaps).toBe(2)
})

test('two channels beside each other', async () => {
  const server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  const heard: string[] = []
  const listen = (channel: string) =>
    connection.subscribe(
      channel,
      text => heard.push(`${channel} ${text}`),
      () => {},
    )
  await Promise.all([listen('a'), listen('b')])
  await until('both', async () => {
    const [, a, , b] = (await server.command('PUBSUB', 'NUMSUB', 'a', 'b')) as unknown[]
    return Number(a) === 1 && Number(b) === 1
  })
  for (const channel of ['a', 'b', 'c']) await server.command('PUBLISH', channel, 'x')
  await until('two messages', () => heard.length === 2)
  expect(heard).toEqual(['a x', 'b x'])
})

test('a channel that is added later is no gap for the first, and nothing is away', async () => {
  const server = await startRedis(playground)
  const log = hearingLog()
  const connection = openRedis({ url: server.url, clock: systemClock, log, ...patient })
  playground.onUndo(() => connection.close())
  const heard: string[] = []
  let gaps = 0
  const listen = (channel: string) =>
    connection.subscribe(
      channel,
      text => heard.push(text),
      () => {
        gaps += 1
      },
    )
  await listen('a')
  await listen('b')
  await server.command('PUBLISH', 'a', 'one')
  await server.command('PUBLISH', 'b', 'two')
  await until('both', () => heard.length === 2)
  expect({ heard, gaps, log: log.text() }).toEqual({ heard: ['one', 'two'], gaps: 0, log: '' })
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await until('both to be told of the gap', () => gaps === 2)
})

test('a listener whose server falls silent notices it and is told of the gap', async () => {
  const server = await startRedis(playground)
  const log = hearingLog()
  const { url } = server
  const connection = openRedis({ url, clock: systemClock, log, timeoutMs: 300, durability: 'disk', replicas: 0 })
  playground.onUndo(() => connection.close())
  let gaps = 0
  const count = () => {
    gaps += 1
  }
  await connection.subscribe('news', () => {}, count)
  // On a slow machine a first connect may have been given up already.
  const before = log.text().length
  process.kill(server.pid, 'SIGSTOP')
  await until('the silence to be noticed', () => /"channel".*redis is away/.test(log.text().slice(before)))
  expect(gaps).toBe(0)
  process.kill(server.pid, 'SIGCONT')
  await until('the gap to be told', () => gaps === 1)
})

test('closing ends calls that are under way, with an unknown outcome, and a subscription that never stood', async () => {
  const server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  process.kill(server.pid, 'SIGSTOP')
  const call = connection.command(['PING'])
  const subscribed = connection.subscribe(
    'news',
    () => {},
    () => {},
  )
  call.catch(() => {})
  await connection.close()
  process.kill(server.pid, 'SIGCONT')
  await expect(call).rejects.toMatchObject({ code: 'redis_lost', outcomeUnknown: true })
  await subscribed
  await expect(connection.command(['PING'])).rejects.toMatchObject({ code: 'redis_away' })
  expect(connection.connected()).toBe(false)
})

test('a command the server does not know is a bug, not a fault', async () => {
  const server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  await expect(connection.command(['NONSENSE'])).rejects.toMatchObject({ name: 'Bug' })
  await server.command('SET', 'text', 'x')
  await expect(connection.command(['HGET', 'text', 'a'])).rejects.toMatchObject({ name: 'Bug' })
})
