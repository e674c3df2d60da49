/** Kafka's broker as a program: what is missing is one line, said once. */

import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ensureKafka, KAFKA_MISSING_VARIABLE, run, severalTimes } from './program.ts'

const before = { ...process.env }
const put = (name: string, value: string | undefined) => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
afterEach(() => {
  for (const name of [KAFKA_MISSING_VARIABLE, 'XDG_CACHE_HOME']) put(name, before[name])
})

test('a run that could not install it: each file fails at once, with the same line', async () => {
  put(KAFKA_MISSING_VARIABLE, 'Kafka could not be installed: mvn: no network')
  const said: string[] = []
  await expect(ensureKafka(line => said.push(line))).rejects.toThrow('Kafka could not be installed: mvn: no network')
  expect(said).toEqual([])
})

test('an installation that has lost a file says what to remove', async () => {
  put(KAFKA_MISSING_VARIABLE, undefined)
  const caches = mkdtempSync(join(tmpdir(), 'stampede-kafka-'))
  try {
    const checksums = readFileSync(resolve(import.meta.dirname, 'checksums.txt'))
    const name = `kafka-${createHash('sha256').update(checksums).digest('hex').slice(0, 12)}`
    const folder = join(caches, 'stampede', name)
    mkdirSync(join(folder, 'jars'), { recursive: true })
    put('XDG_CACHE_HOME', caches)
    await expect(ensureKafka(() => {})).rejects.toThrow(`is not what checksums.txt says: remove ${folder}`)
  } finally {
    rmSync(caches, { recursive: true, force: true })
  }
})

test('a download is tried three times; the last reason counts', () => {
  const said: string[] = []
  let tries = 0
  const failing = (until: number) => () => {
    tries += 1
    if (tries < until) throw new Error(`try ${tries}`)
  }
  severalTimes(3, line => said.push(line), failing(3))
  expect(tries).toBe(3)
  expect(said).toEqual(['try 1; once more …', 'try 2; once more …'])
  tries = 0
  expect(() => severalTimes(3, () => {}, failing(9))).toThrow('try 3')
})

test('what is left of a deadline is a time limit, though no whole number', () => {
  expect(() => run('true', [], 59_999.533438)).not.toThrow()
  expect(() => run('sleep', ['60'], 0.5)).toThrow('Kafka could not be installed: sleep')
})
