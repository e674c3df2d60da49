/**
 * The stage of a flow test: a real ledger that all tests of the file share, and on it a gate, an outbox and nodes as a keeper or a worker
 * of a cluster sees them. Every item is its own world; what one test took away or wrote down is back before the next begins.
 */

import { afterAll, afterEach, beforeAll } from 'bun:test'
import { armFaultPoints } from '../../src/base/fault-points.ts'
import { type KeeperStage, openKeeperStage } from './cluster-keeper.ts'
import { startTestLedger, type TestLedger } from './money-ledger.ts'

const START_MS_MAX = 120_000

/** The ledger of this file's tests: started before the first, stopped after the last. */
export function ledgerForFile(): TestLedger {
  let opened: TestLedger | undefined
  beforeAll(async () => {
    opened = await startTestLedger()
  }, START_MS_MAX)
  afterAll(() => opened?.stop())
  return lateBound(() => opened)
}

/** What keepers and workers of this file's tests stand on. */
export function keeperStageForFile(ledger: TestLedger): KeeperStage {
  let opened: KeeperStage | undefined
  beforeAll(() => {
    opened = openKeeperStage(ledger)
  })
  const stage = lateBound(() => opened)
  afterEach(() => {
    armFaultPoints('')
    stage.server.away = false
    stage.calls.length = 0
    stage.said.length = 0
    stage.leases.clear()
    stage.entries.clear()
  })
  return stage
}

/** What `get` returns when it is used: a file names its stage at the top, where nothing has been started yet. */
function lateBound<T extends object>(get: () => T | undefined): T {
  const now = () => {
    const opened = get()
    if (opened === undefined) throw new Error('used before the first test')
    return opened
  }
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(now(), key),
    has: (_, key) => Reflect.has(now(), key),
    ownKeys: () => Reflect.ownKeys(now()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(now(), key),
  })
}
