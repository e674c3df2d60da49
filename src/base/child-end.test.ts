import { expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { childEnd } from './child-end.ts'

test('a process is over with its code or its signal, and all its output', async () => {
  const talker = spawn(process.execPath, ['-e', 'console.log("x".repeat(100_000)); process.exit(3)'])
  let heard = 0
  talker.stdout.on('data', (chunk: Buffer) => {
    heard += chunk.length
  })
  expect(await childEnd(talker)).toEqual({ code: 3, signal: null })
  expect(heard).toBe(100_001)

  const sleeper = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  sleeper.kill('SIGKILL')
  expect(await childEnd(sleeper)).toEqual({ code: null, signal: 'SIGKILL' })
})

test('one whose pipes are never said to have ended is over all the same', async () => {
  const child = new EventEmitter() as ChildProcess
  const end = childEnd(child)
  child.emit('exit', null, 'SIGKILL')
  expect(await end).toEqual({ code: null, signal: 'SIGKILL' })
})
