import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Fault } from '../../base/fault.ts'
import { lockFolder } from './folder-lock.ts'
import { identityOfThisProcess } from './process-identity.ts'

let root = ''
let folders = 0
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'stampede-lock-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

function newFolder(lock?: string): string {
  folders += 1
  const folder = mkdtempSync(join(root, `${folders}-`))
  if (lock !== undefined) writeFileSync(join(folder, 'stampede.7.pid'), lock)
  return folder
}

function refusalOf(act: () => unknown): Fault {
  try {
    act()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('was not refused')
}

/** The pid of a process that has ended. */
function deadPid(): number {
  return spawnSync('/bin/true').pid
}

test('refuses a folder that is held, names the holder, and gives it once it is let go', () => {
  const folder = newFolder()
  const lock = lockFolder(folder)
  const refusal = refusalOf(() => lockFolder(folder))
  expect(refusal.code).toBe('embedded_folder_in_use')
  expect(refusal.message).toContain(`pid ${process.pid}`)
  expect(refusal.message).not.toContain('\n')
  lock.release()
  lock.release()
  lockFolder(folder).release()
  expect(readdirSync(folder)).toEqual(['stampede.2.pid'])
})

test('does not take a recycled pid for the holder: start time and boot decide', () => {
  const me = identityOfThisProcess()
  expect(me.startTicks).toMatch(/^\d+$/)
  expect(refusalOf(() => lockFolder(newFolder(JSON.stringify(me)))).code).toBe('embedded_folder_in_use')
  for (const stale of [
    { ...me, startTicks: String(Number(me.startTicks) - 1) },
    { ...me, bootId: 'another-boot' },
    { ...me, pid: deadPid() },
  ])
    lockFolder(newFolder(JSON.stringify(stale))).release()
  for (const torn of ['', '{"pid":', '{"pid":-1,"startTicks":"","bootId":""}']) lockFolder(newFolder(torn)).release()
})

test('in doubt about the start time, a running pid is the holder', () => {
  const unsure = { pid: process.pid, startTicks: '', bootId: '' }
  expect(refusalOf(() => lockFolder(newFolder(JSON.stringify(unsure)))).code).toBe('embedded_folder_in_use')
})

test('of many processes that find a stale lock at once, exactly one gets the folder', async () => {
  const racers = await Promise.all(Array.from({ length: 6 }, startRacer))
  try {
    for (let round = 0; round < 60; round++) {
      // With and without a stale lock.
      const folder = newFolder(
        round % 4 === 0 ? undefined : JSON.stringify({ ...identityOfThisProcess(), pid: deadPid() }),
      )
      const said = await Promise.all(racers.map(racer => racer.tryToLock(folder)))
      expect(said.toSorted()).toEqual([...Array(racers.length - 1).fill('embedded_folder_in_use'), 'won'])
    }
  } finally {
    for (const racer of racers) racer.child.kill('SIGKILL')
  }
}, 300_000)

interface Racer {
  readonly child: ChildProcess
  tryToLock(folder: string): Promise<string>
}

async function startRacer(): Promise<Racer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'folder-lock.fixture.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  expect(await nextLine()).toBe('ready')
  return {
    child,
    tryToLock: folder => {
      child.stdin.write(`${folder}\n`)
      return nextLine()
    },
  }
}
