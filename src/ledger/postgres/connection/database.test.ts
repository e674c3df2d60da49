import { afterEach, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { Playground } from '../../../../test/harness/playground.ts'
import { startPostgres } from '../../../../test/harness/postgres.ts'
import { Relay } from '../../../../test/harness/relay.ts'
import { Fault } from '../../../base/fault.ts'
import { createDatabase } from './database.ts'

const ONE_EACH = { placing: 1, protocol: 1, work: 1, reads: 1 }

const ledger = ledgerForFile()

const playground = new Playground()
afterEach(() => playground.undo())

test('after close every statement gets a fault at once, not a bug; closing twice is closing once', async () => {
  const database = ledger.connect()
  const underWay = database.run('orders_of_buyer', ['ann', null, 20])
  const closed = database.close()
  expect(await underWay).toEqual([])
  await closed
  const late = await Promise.allSettled([
    database.run('orders_of_buyer', ['ann', null, 20]),
    database.transaction(async run => run('orders_of_buyer', ['ann', null, 20])),
    database.warm(),
  ])
  expect(
    late.map(one =>
      one.status === 'rejected' && one.reason instanceof Fault ? [one.reason.code, one.reason.retryable] : one,
    ),
  ).toEqual(late.map(() => ['stopping', true]))
  await database.close()
})

test('a server that accepts a connection and does not answer is a ledger that does not answer, not a wrong address', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise(resolve => silent.once('listening', resolve))
  const { port } = silent.address() as AddressInfo
  const connection = { host: '127.0.0.1', port, user: 'stampede', database: 'stampede' }
  const database = createDatabase({
    connection,
    lanes: ONE_EACH,
    onError: () => {},
  })
  try {
    const fault = await database.connect().catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'ledger_away', retryable: true, outcomeUnknown: false })
  } finally {
    await database.close()
    silent.close()
  }
}, 300_000)

test('a server that lets a connection in and then falls silent is no connection: it is given up soon, and closed', async () => {
  const closed = Promise.withResolvers<void>()
  // After the first message of the client: it may come in (AuthenticationOk), and may ask (ReadyForQuery). Nothing else is ever answered.
  const mute = createServer(socket => {
    socket.once('data', () => socket.write(Buffer.from('520000000800000000' + '5a0000000549', 'hex')))
    socket.once('close', () => closed.resolve()).on('error', () => {})
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => mute.once('listening', resolve))
  const { port } = mute.address() as AddressInfo
  const connection = { host: '127.0.0.1', port, user: 'stampede', database: 'stampede' }
  const database = createDatabase({ connection, lanes: ONE_EACH, onError: () => {} })
  try {
    const fault = await database.connect().catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'ledger_away', retryable: true })
    await closed.promise
  } finally {
    await database.close()
    mute.close()
  }
}, 300_000)

test('a process that slept in the middle of a transaction finds its session ended: a fault that passes, so a keeper starts over and does not end', async () => {
  const postgres = await startPostgres(playground)
  const { user, database: name } = postgres.connection
  // Over a network the server's last message is read; over a socket of this machine the write fails before.
  const road = await Relay.start(playground, { path: postgres.socket })
  const database = createDatabase({
    connection: { host: '127.0.0.1', port: road.port(), user, database: name },
    lanes: ONE_EACH,
    onError: () => {},
  })
  playground.onUndo(() => database.close())
  const sleep = new Int32Array(new SharedArrayBuffer(4))
  const snapshot = database.transaction(async run => {
    await run('now', [])
    // The whole process is blocked for longer than the server waits for it.
    Atomics.wait(sleep, 0, 0, 6_500)
    await run('now', [])
  })
  expect(await snapshot.catch((error: unknown) => error)).toBeInstanceOf(Fault)
}, 300_000)
