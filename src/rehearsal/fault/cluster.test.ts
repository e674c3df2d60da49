import { afterAll, afterEach, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClusterPart, readClusterFile, signalPart } from './cluster.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-cluster-file-'))
const path = join(folder, 'cluster.json')
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  rmSync(path, { force: true })
})

afterAll(() => rmSync(folder, { recursive: true }))

const WHERE = { url: 'http://127.0.0.1:8080', adminToken: 'a-token-nobody-may-see', buyerSecret: 'a-secret' }

function write(parts: readonly unknown[], more: Record<string, unknown> = {}): void {
  writeFileSync(path, JSON.stringify({ ...WHERE, parts, ...more }))
}

/** A real process with a name that has everything in it that could confuse a reader of /proc. */
async function start(name: string, role: string): Promise<ClusterPart> {
  const child = spawn('/bin/sh', ['-c', 'echo up; exec sleep 60'], {
    argv0: '(a) b',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  await once(child.stdout!, 'data')
  const pid = child.pid!
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const startTicks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
  return { name, role: role as ClusterPart['role'], pid, startTicks }
}

const whyNot = (fn: () => unknown) => {
  try {
    fn()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was wrong'
}

test('the file is read as it was written, and what is wrong with it is said without its secrets', () => {
  const part = { name: 'edge-1', role: 'edge', pid: 4711, startTicks: '123456' }
  write([part])
  expect(readClusterFile(path)).toEqual({ ...WHERE, parts: [part] } as ReturnType<typeof readClusterFile>)

  const wrong: [write: () => void, words: string][] = [
    [() => rmSync(path), 'there is no '],
    [() => writeFileSync(path, '{"url":'), 'it is not JSON'],
    [() => write([part], { url: 'redis://x' }), 'url is missing or wrong'],
    [() => write([part], { adminToken: '' }), 'adminToken is missing or wrong'],
    [() => write([{ ...part, pid: 1 }]), 'parts.0.pid is missing or wrong'],
    [() => write([{ ...part, pid: -4711 }]), 'parts.0.pid is missing or wrong'],
    [() => write([part, { ...part, startTicks: '' }]), 'parts.1.startTicks is missing or wrong'],
    [() => write([{ ...part, role: 'bystander' }]), 'parts.0.role is missing or wrong'],
    [() => write([{ ...part, slots: [[1]] }]), 'parts.0.slots.0 is missing or wrong'],
  ]
  for (const [make, words] of wrong) {
    make()
    const said = whyNot(() => readClusterFile(path))
    expect(said).toContain(words)
    expect(said).not.toContain(WHERE.adminToken)
    expect(said).not.toContain('\n')
  }
})

test('the victim is the first running part of its role, and it alone dies', async () => {
  const [one, two, other] = [
    await start('worker-1', 'worker'),
    await start('worker-2', 'worker'),
    await start('edge-1', 'edge'),
  ]
  write([other, { ...one, startTicks: String(Number(one.startTicks) - 1) }, two])
  expect(signalPart(0, path, 'worker'), 'worker-1 is another process by now').toEqual(two)
  write([other, one, two])
  const died = once(children[0]!, 'exit')
  expect(signalPart('SIGKILL', path, 'worker')).toEqual(one)
  expect(await died).toEqual([null, 'SIGKILL'])
  expect(signalPart(0, path, 'worker')).toEqual(two)
  expect(children.slice(1).map(child => child.signalCode)).toEqual([null, null])
})

test('of a Redis Cluster the primary dies that has most of what is sold, never a replica', async () => {
  const [replica, first, second, third] = [
    { ...(await start('redis-1', 'redis')), slots: [] },
    { ...(await start('redis-2', 'redis')), slots: [[0, 5_460] as const] },
    { ...(await start('redis-3', 'redis')), slots: [[5_461, 10_000] as const, [10_002, 10_921] as const] },
    { ...(await start('redis-4', 'redis')), slots: [[10_922, 16_383] as const, [10_001, 10_001] as const] },
  ]
  write([replica, first, second, third])
  const chosen = (...slots: number[]) => signalPart(0, path, 'redis', slots).name
  expect([chosen(), chosen(5_460), chosen(5_461), chosen(10_001), chosen(16_383)]).toEqual(
    [first, first, second, third, third].map(({ name }) => name),
  )
  expect(chosen(1, 12_000, 6_000, 13_000)).toBe(third.name)
  const died = once(children[3]!, 'exit')
  expect(signalPart('SIGKILL', path, 'redis', [16_000])).toEqual(third)
  expect(await died).toEqual([null, 'SIGKILL'])
  expect(chosen(16_000), 'its primary is dead already: any other').toBe(first.name)
})

test('somebody else’s process under an old pid is never touched', async () => {
  const part = await start('keeper-1', 'keeper')
  write([{ ...part, startTicks: String(Number(part.startTicks) + 1) }])
  expect(whyNot(() => signalPart('SIGKILL', path, 'keeper'))).toContain(
    `keeper-1 (pid ${part.pid}) does not run any more`,
  )
  expect(children[0]!.signalCode).toBeNull()
  expect(children[0]!.kill(0)).toBe(true)
})

test('the rehearsal does not kill itself, whatever the file says', () => {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const startTicks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
  write([{ name: 'edge-1', role: 'edge', pid: process.pid, startTicks }])
  expect(whyNot(() => signalPart('SIGKILL', path, 'edge'))).toContain('does not run any more')
})

test('no such part, one that is gone, and one that may not be killed are each one clear line', async () => {
  const part = await start('redis', 'redis')
  write([part])
  expect(whyNot(() => signalPart(0, path, 'postgres'))).toContain('there is no postgres in the cluster of')
  const notAllowed = () => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
  }
  expect(whyNot(() => signalPart(0, path, 'redis', [], notAllowed))).toContain(
    `not allowed to kill redis (pid ${part.pid}): run this as the account that started the cluster`,
  )
  const died = once(children[0]!, 'exit')
  signalPart('SIGKILL', path, 'redis')
  await died
  expect(whyNot(() => signalPart('SIGKILL', path, 'redis'))).toContain('does not run any more')
})
