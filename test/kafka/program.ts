/**
 * Apache Kafka's broker as a program that can be started: Java from Debian, the jars of `pom.xml` from Maven Central through Maven, which has
 * its own settings for mirrors and proxies. They are kept in the user's cache folder, outside the checkout, under the version and the
 * checksums' checksum, and are used only if every file has the checksum of `checksums.txt`. Beside them lie a formatted data folder, to
 * copy for a new broker, and an archive of loaded classes that halves the time of a start.
 *
 * What can't be had is one clear line. A half-finished installation is never used: the folder gets its name when it is complete.
 */

import { type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { freePort } from '../harness/free-port.ts'
import { listens } from '../harness/listens.ts'
import { until, within } from '../harness/until.ts'
import { ensureServers } from '../servers.ts'
import { brokerProperties, CLUSTER_ID } from './properties.ts'

export const JAVA = '/usr/bin/java'
const JAVA_VERSION_MIN = 17
const POM = resolve(import.meta.dirname, 'pom.xml')
const CHECKSUMS = resolve(import.meta.dirname, 'checksums.txt')
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
const DOWNLOAD_MS_MAX = 10 * 60_000
const DOWNLOAD_TRIES = 3
const FORMAT_MS_MAX = 2 * 60_000

/** Set by a test run that could not install Kafka: the line that says why. The files of the run fail with it, and do not try again. */
export const KAFKA_MISSING_VARIABLE = 'STAMPEDE_TEST_KAFKA_MISSING'

/** Small: a test's broker keeps some megabytes. */
const JVM = ['-Xms64m', '-Xmx512m', '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn']

export interface KafkaProgram {
  /** Arguments of `java`, up to the main class. */
  readonly java: readonly string[]
  /** A formatted data folder to copy. */
  readonly formatted: string
}

/** Installs what is missing. Throws with one line where that can't be done. */
export async function ensureKafka(say: (line: string) => void): Promise<KafkaProgram> {
  const missing = process.env[KAFKA_MISSING_VARIABLE]
  if (missing !== undefined) throw new Error(missing)
  const expected = readFileSync(CHECKSUMS, 'utf8')
  const name = `kafka-${createHash('sha256').update(expected).digest('hex').slice(0, 12)}`
  const caches = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'stampede')
  const folder = join(caches, name)
  const jars = parseChecksums(expected)
  const installed = existsSync(folder)
  ensureServers(installed ? ['default-jre-headless'] : ['default-jre-headless', 'maven'], say)
  checkJava()
  if (!installed) {
    mkdirSync(caches, { recursive: true })
    const draft = mkdtempSync(join(caches, `${name}-`))
    try {
      install(draft, jars, say)
      keep(draft, folder)
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
  }
  const bad = jars.find(({ file, sha256 }) => {
    const path = join(folder, 'jars', file)
    return !existsSync(path) || sha256Of(path) !== sha256
  })
  if (bad !== undefined)
    throw new Error(`${join(folder, 'jars', bad.file)} is not what checksums.txt says: remove ${folder}`)
  const archive = join(folder, 'classes.jsa')
  if (!existsSync(archive)) await archiveClasses(programIn(folder, jars), archive)
  const { java, formatted } = programIn(folder, jars)
  return { java: [`-XX:SharedArchiveFile=${archive}`, ...java], formatted }
}

interface Jar {
  readonly file: string
  readonly sha256: string
}

/** The lines of `sha256sum`. */
function parseChecksums(text: string): Jar[] {
  return text
    .trim()
    .split('\n')
    .map(line => {
      const [sha256 = '', file = ''] = line.split(/\s+/)
      return { file, sha256 }
    })
}

function install(draft: string, jars: readonly Jar[], say: (line: string) => void): void {
  say('fetching Apache Kafka from Maven Central …')
  const folder = join(draft, 'jars')
  const args = ['-q', '-B', PLUGIN, '-f', POM, '-DincludeScope=runtime', `-DoutputDirectory=${folder}`]
  const lateMs = performance.now() + DOWNLOAD_MS_MAX
  severalTimes(DOWNLOAD_TRIES, say, () => run('mvn', args, Math.max(1, lateMs - performance.now())))
  for (const { file, sha256 } of jars) {
    const path = join(folder, file)
    if (!existsSync(path)) throw new Error(`Maven did not bring ${file}: checksums.txt and pom.xml do not go together`)
    if (sha256Of(path) !== sha256)
      throw new Error(`${file} from Maven Central has another checksum than checksums.txt says`)
  }
  const formatted = join(draft, 'formatted')
  const properties = join(draft, 'format.properties')
  writeFileSync(properties, brokerProperties({ port: 0, controllerPort: 1, dir: formatted }))
  const { java } = programIn(draft, jars)
  run(JAVA, [...java, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties], FORMAT_MS_MAX)
}

/** Until it does not throw; what it threw last is thrown. */
export function severalTimes<T>(triesMax: number, say: (line: string) => void, go: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return go()
    } catch (error) {
      if (tries >= triesMax) throw error
      say(`${error instanceof Error ? error.message : error}; once more …`)
    }
  }
}

/** Another process may have finished the same installation meanwhile: then that one is used. */
function keep(draft: string, folder: string): void {
  try {
    renameSync(draft, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
}

function programIn(folder: string, jars: readonly Jar[]): KafkaProgram {
  const classPath = jars.map(({ file }) => join(folder, 'jars', file)).join(':')
  return { java: [...JVM, '-cp', classPath], formatted: join(folder, 'formatted') }
}

/** Java writes the classes a broker has loaded into the archive when it ends. The archive goes with these jars at this path. */
async function archiveClasses({ java, formatted }: KafkaProgram, archive: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-kafka-'))
  const [port, controllerPort] = [await freePort(), await freePort()]
  const draft = `${archive}-${process.pid}`
  const dir = join(folder, 'data')
  const properties = join(folder, 'broker.properties')
  cpSync(formatted, dir, { recursive: true })
  writeFileSync(properties, brokerProperties({ port, controllerPort, dir }))
  const child = spawn(JAVA, [`-XX:ArchiveClassesAtExit=${draft}`, ...java, 'kafka.Kafka', properties], {
    stdio: 'ignore',
  })
  const ended = childEnd(child)
  try {
    await until("Kafka's first start", () => child.exitCode !== null || listens(port), FORMAT_MS_MAX)
    child.kill('SIGTERM')
    await within("the end of Kafka's first start", FORMAT_MS_MAX, ended)
    if (!existsSync(draft)) throw new Error('Kafka could not be started once: run "npm test" again to see more')
    renameSync(draft, archive)
  } finally {
    child.kill('SIGKILL')
    await ended
    rmSync(draft, { force: true })
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

function checkJava(): void {
  const said = spawnSync(JAVA, ['-version'], { encoding: 'utf8', timeout: FORMAT_MS_MAX }).stderr ?? ''
  const version = Number(/version "(\d+)/.exec(said)?.[1])
  if (!(version >= JAVA_VERSION_MIN))
    throw new Error(`Kafka needs Java ${JAVA_VERSION_MIN} or newer: ${JAVA} says ${said.split('\n')[0]}`)
}

/** @param limitMs `spawnSync` takes whole numbers only; what is left of a deadline is none. */
export function run(program: string, args: readonly string[], limitMs: number): void {
  const options = {
    encoding: 'utf8',
    timeout: Math.ceil(limitMs),
    stdio: ['ignore', 'pipe', 'pipe'],
  } satisfies SpawnSyncOptions
  const { status, error, stdout, stderr } = spawnSync(program, args, options)
  if (status === 0) return
  const said = `${stdout ?? ''}\n${stderr ?? ''}`.split('\n').find(line => /ERROR|Exception/.test(line)) ?? ''
  throw new Error(`Kafka could not be installed: ${program}: ${error?.message ?? said.trim()}`)
}

function sha256Of(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
