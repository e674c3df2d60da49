/**
 * The same asks without a client's cost: script calls prepared beforehand, one ask each, over plain sockets, their replies only counted.
 * This is the most that one call per ask can get out of a server.
 */

import { connect, type Socket } from 'node:net'
import type { Clock } from '../../src/base/clock.ts'
import { Histogram } from '../../src/rehearsal/client/histogram.ts'
import { resultOf } from './asks.ts'
import type { LoadResult } from './closed-loop.ts'

interface BareAsks {
  readonly port: number
  readonly sockets: number
  /** On all sockets together. */
  readonly underWay: number
  readonly forMs: number
  readonly clock: Clock
  /** The bytes of the next call; undefined when there are no more. */
  readonly next: () => string | undefined
}

/** Each reply is one list, and no other byte in it is this one; the code of a reserved ask is the only letter. */
const LIST = '*'.charCodeAt(0)
const CODE_RESERVED = 'r'.charCodeAt(0)
/** Begins an error; no list holds it. */
const ERROR = '-'.charCodeAt(0)

export function bytesOfCall(words: readonly (string | number)[]): string {
  return `*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('')}`
}

export async function runBareAsks(asking: BareAsks): Promise<LoadResult> {
  const { port, underWay, forMs, clock, next } = asking
  const sockets = await Promise.all(Array.from({ length: asking.sockets }, () => open(port)))
  const latency = new Histogram()
  const finished = Promise.withResolvers<void>()
  let answers = 0
  let reserved = 0
  let waiting = 0
  const beganMs = clock.elapsed()
  let lastMs = beganMs

  for (const socket of sockets) {
    const sentAtMs: number[] = []
    let answered = 0
    const send = (count: number, nowMs: number) => {
      const calls: string[] = []
      for (let i = 0; i < count; i++) {
        const call = nowMs - beganMs < forMs ? next() : undefined
        if (call === undefined) break
        calls.push(call)
        sentAtMs.push(nowMs)
      }
      waiting += calls.length
      if (calls.length > 0) socket.write(calls.join(''))
      if (waiting === 0) finished.resolve()
    }
    socket.on('data', (chunk: Buffer) => {
      lastMs = clock.elapsed()
      let came = 0
      for (const byte of chunk) {
        if (byte === CODE_RESERVED) reserved += 1
        else if (byte === ERROR) finished.reject(new Error(`Redis refused: ${chunk.toString('latin1', 0, 200)}`))
        if (byte !== LIST) continue
        came += 1
        latency.add(lastMs - sentAtMs[answered++]!)
      }
      answers += came
      waiting -= came
      send(came, lastMs)
    })
    socket.on('close', () => finished.reject(new Error('Redis hung up')))
    send(Math.ceil(underWay / sockets.length), beganMs)
  }
  try {
    await finished.promise
  } finally {
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }
  return resultOf(latency, reserved, answers - reserved, lastMs - beganMs)
}

function open(port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect(port, '127.0.0.1', () => resolve(socket))
  socket.setNoDelay(true)
  socket.once('error', reject)
  return promise
}
