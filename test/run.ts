/**
 * `npm test`: every check there is, in stages, cheapest first. One failing stage does not hide the next; any failure makes the
 * exit code 1. The last line is `N passed, N failed`: tests as Bun's report counts them, every other stage as one.
 * Test files run in lanes side by side, each in a Bun of its own, because most of what they do is wait; a file's output is printed when
 * it has ended. The longest begin first (`slow-files.ts`), so that the lanes end together; the run ends with the 20 that took longest.
 *
 * What failed is printed again before the last lines, for those who read only the end of a long run.
 *
 * What can't be counted has failed: no report, a test file the report does not name (it did not load, or holds no test), an exit
 * code that contradicts the report, a stage past its limit, a process left running that still holds the stage's output.
 *
 *   npm test                      format and lint, types, tidy, tests
 *   npm run test:long             the same, with the `*.long.test.ts` files
 *   npm test -- src/gate test/x   only the tests whose path starts with an argument; a long one must be named in full
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { MADE_DATA_VARIABLE, makeData } from './harness/made-data.ts'
import { compileProgram, PROGRAM_VARIABLE } from './harness/program.ts'
import { type Counts, countReport } from './junit-report.ts'
import { ensureKafka, KAFKA_MISSING_VARIABLE } from './kafka/program.ts'
import { ensureVersitygw, VERSITYGW_MISSING_VARIABLE } from './pages/program.ts'
import { makeScratch } from './scratch.ts'
import { ensureServers } from './servers.ts'
import { SLOW_FILES } from './slow-files.ts'
import { ensureStripeMock, STRIPE_MOCK_MISSING_VARIABLE } from './stripe/program.ts'

const ROOT = resolve(import.meta.dirname, '..')
const TIDY = 'test/tidy.test.ts'
const TEST_FOLDERS = ['src', 'test', 'bench', 'web']

const TEST_MS_MAX = 300_000
const STAGE_MS_MAX = 60 * 60_000
const STAGE_LONG_MS_MAX = 2 * 60 * 60_000
/** How long output may stay open after a stage's process has ended before something else must be holding it. */
const OUTPUT_OPEN_MS_MAX = 5_000

/** How much of a failed file's output is printed again. */
const AGAIN_LINES_MAX = 150
const LINES_BEFORE = 60

const SLOWEST_SHOWN = 20

interface Stage {
  readonly name: string
  run(): Promise<Counts>
}

/** Four on two cores: a file waits for more than half of its time. On more cores no more, because some tests load every core they find. */
const LANES = Math.min(4, availableParallelism() + 2)

const color = process.stdout.isTTY === true
const running = new Set<ChildProcess>()
/** What every command of the run finds in its environment beside our own. */
const given: Record<string, string> = color ? { FORCE_COLOR: '1' } : {}
/** What failed, with the output it failed with. */
const failures: string[] = []
/** How long each test file took. */
const times: { readonly file: string; readonly ms: number }[] = []

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function heading(name: string): string {
  return color ? `\n\x1b[1m── ${name}\x1b[0m` : `\n── ${name}`
}

const print = (chunk: Buffer) => void process.stdout.write(chunk)

/** Runs a command; `hear` gets its output. Resolves with why it failed, or undefined; never rejects. */
function command(
  args: readonly string[],
  limitMs: number,
  hear: (chunk: Buffer) => void = print,
): Promise<string | undefined> {
  return new Promise(done => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...given },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = outputOf(child.pid)
    running.add(child)
    let why: string | undefined
    const limit = setTimeout(() => {
      why = `took longer than ${Math.ceil(limitMs / 60_000)} minutes and was ended`
      child.kill('SIGKILL')
    }, limitMs)
    const end = () => {
      clearTimeout(limit)
      running.delete(child)
      done(why)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('error', error => {
      why = `could not be started: ${error.message}`
      end()
    })
    child.on('exit', (code, signal) => {
      if (signal !== null) why ??= `was ended by ${signal}`
      else if (code !== 0) why ??= `exit code ${code}`
      const open = setTimeout(() => {
        if (isHeld(output)) why ??= 'left a process running that still holds its output'
        child.stdout.destroy()
        child.stderr.destroy()
        end()
      }, OUTPUT_OPEN_MS_MAX)
      child.on('close', () => {
        clearTimeout(open)
        end()
      })
    })
  })
}

/** The other ends of a process's pipes, as the kernel names them; none where it does not say. */
function outputOf(pid: number | undefined): ReadonlySet<string> {
  return new Set([1, 2].flatMap(fd => linkOf(`/proc/${pid}/fd/${fd}`) ?? []))
}

/** Bun 1.4.4 now and then does not notice that a pipe has ended: only a process that has one open holds it. */
function isHeld(output: ReadonlySet<string>): boolean {
  if (!existsSync('/proc')) return false
  return readdirSync('/proc', { withFileTypes: true }).some(
    entry => /^[0-9]+$/.test(entry.name) && [...outputOf(Number(entry.name))].some(end => output.has(end)),
  )
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** A stage that only passes or fails. */
function check(name: string, args: readonly string[]): Stage {
  return {
    name,
    async run() {
      const why = await command(args, STAGE_MS_MAX)
      if (why === undefined) return { passed: 1, failed: 0 }
      say(`${name}: ${why}`)
      failures.push(`${name}: ${why}`)
      return { passed: 0, failed: 1 }
    },
  }
}

/** A stage of test files. The output of a single file is printed as it comes. */
function tests(name: string, files: readonly string[], limitMs: number): Stage {
  return {
    name,
    async run() {
      const lateMs = performance.now() + limitMs
      const waiting = [...files]
      const all: Counts[] = []
      const lane = async () => {
        for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
          const heard: Buffer[] = []
          const hear = files.length === 1 ? print : (chunk: Buffer) => void heard.push(chunk)
          const fromMs = performance.now()
          const counts = await testFile(name, file, Math.max(1, lateMs - fromMs), hear)
          times.push({ file, ms: performance.now() - fromMs })
          process.stdout.write(Buffer.concat(heard))
          if (counts.complaint !== undefined) say(counts.complaint)
          if (counts.failed > 0) failures.push(again(file, Buffer.concat(heard).toString(), counts.complaint))
          all.push(counts)
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      return {
        passed: all.reduce((sum, one) => sum + one.passed, 0),
        failed: all.reduce((sum, one) => sum + one.failed, 0),
      }
    },
  }
}

/** A file's output from a little before its first failure; its end where no test failed by name (it did not load, or was ended). */
function again(file: string, heard: string, complaint: string | undefined): string {
  const lines = heard.trimEnd().split('\n')
  const first = lines.findIndex(line => line.includes('(fail)'))
  const from = Math.max(0, first < 0 ? lines.length - AGAIN_LINES_MAX : first - LINES_BEFORE)
  const shown = lines.slice(from, from + AGAIN_LINES_MAX)
  return [`${file}:`, ...shown, ...(complaint === undefined ? [] : [complaint])].join('\n')
}

async function testFile(
  stage: string,
  file: string,
  limitMs: number,
  hear: (chunk: Buffer) => void,
): Promise<Counts & { complaint: string | undefined }> {
  const folder = mkdtempSync(join(scratch, 'report-'))
  const report = join(folder, 'junit.xml')
  try {
    const options = [`--timeout=${TEST_MS_MAX}`, '--reporter=junit', `--reporter-outfile=${report}`]
    const why = await command(['test', ...options, `./${file}`], limitMs, hear)
    const { passed, failed, skipped, silent } = countReport(report, file)
    if (silent)
      return {
        passed,
        failed: failed + 1,
        complaint: `${stage}: ${file} reported nothing: it did not load, holds no test, or was ended before it did (${why ?? 'exit code 0'})`,
      }
    const other = why !== undefined && !(failed > 0 && why === 'exit code 1')
    const complaint = other
      ? `${stage}: ${file}: ${why}`
      : skipped > 0
        ? `${stage}: ${file}: ${skipped} do not apply on this machine`
        : undefined
    return { passed, failed: failed + (other ? 1 : 0), complaint }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Every test file, as paths from the root with forward slashes, sorted. */
function testFiles(): string[] {
  const found: string[] = []
  const walk = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && entry.name !== 'node_modules') walk(path)
      else if (entry.isFile() && entry.name.endsWith('.test.ts')) found.push(relative(ROOT, path).split(sep).join('/'))
    }
  }
  const there = new Set(readdirSync(ROOT))
  for (const folder of TEST_FOLDERS) if (there.has(folder)) walk(join(ROOT, folder))
  return found.sort().toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** The known slow ones by their time; then those that start processes of their own; last the units beside the code. */
function rankOf(file: string): number {
  const known = SLOW_FILES.indexOf(file)
  if (known >= 0) return known
  return SLOW_FILES.length + (file.startsWith('src/') ? 1 : 0)
}

const isLong = (file: string) => file.endsWith('.long.test.ts')

function chosen(files: readonly string[], wanted: readonly string[], long: boolean): string[] {
  const starts = wanted.map(path => relative(ROOT, resolve(path)).split(sep).join('/'))
  return files.filter(file =>
    starts.some(start => file === start || (file.startsWith(start) && (long || !isLong(file)))),
  )
}

const scratch = makeScratch()
process.on('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))

async function main(args: readonly string[]): Promise<void> {
  const unknown = args.filter(arg => arg.startsWith('-') && arg !== '--long')
  const long = args.includes('--long')
  const wanted = args.filter(arg => !arg.startsWith('-'))
  const all = testFiles()
  const files =
    wanted.length > 0 ? chosen(all, wanted, long) : all.filter(file => file !== TIDY && (long || !isLong(file)))
  const limitMs = files.some(isLong) ? STAGE_LONG_MS_MAX : STAGE_MS_MAX
  if (unknown.length > 0 || files.length === 0) {
    say(unknown.length > 0 ? `test: there is no option ${unknown.join(' ')}` : 'test: no test file matches')
    return finish([{ passed: 0, failed: 1 }])
  }

  const biome = ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '--max-diagnostics=200', '.']
  const stages: Stage[] =
    wanted.length > 0
      ? []
      : [
          check('format and lint', color ? [...biome, '--colors=force'] : biome),
          check('types', ['node_modules/typescript/bin/tsc', '--noEmit', ...(color ? ['--pretty'] : [])]),
          tests('tidy', [TIDY], STAGE_MS_MAX),
        ]
  stages.push(tests('tests', files, limitMs))

  given.TMPDIR = scratch
  given[MADE_DATA_VARIABLE] = await makeData(scratch)
  given[PROGRAM_VARIABLE] = await compileProgram(scratch)
  // A missing server fails the run by itself. The rest is still run: the tests that need it then fail one by one.
  const results: (Counts & { name: string; ms: number })[] = []
  const isMissing = (error: unknown): string => {
    const line = error instanceof Error ? error.message : String(error)
    say(line)
    results.push({ name: 'servers', ms: 0, passed: 0, failed: 1 })
    return line
  }
  try {
    if (files.some(file => /^test\/(page|ops)\//.test(file))) ensureServers(['chromium', 'fonts-noto-cjk'], say)
    if (files.some(file => /cluster|redis|nginx/.test(file)))
      ensureServers(['redis-server', 'nginx', 'openssl', 'faketime'], say)
    if (files.some(file => /alert|dashboard/.test(file))) ensureServers(['prometheus', 'prometheus-alertmanager'], say)
    if (files.some(file => /haproxy/.test(file))) ensureServers(['haproxy'], say)
    if (files.some(file => /restore/.test(file))) ensureServers(['redis-server', 'postgresql'], say)
    if (files.some(file => file.startsWith('test/mail/'))) ensureServers(['python3-aiosmtpd'], say)
  } catch (error) {
    isMissing(error)
  }
  try {
    if (files.some(file => /kafka/.test(file))) await ensureKafka(say)
  } catch (error) {
    given[KAFKA_MISSING_VARIABLE] = isMissing(error)
  }
  try {
    if (files.some(file => file.startsWith('test/pages/'))) ensureVersitygw(say)
  } catch (error) {
    given[VERSITYGW_MISSING_VARIABLE] = isMissing(error)
  }
  try {
    if (files.some(file => /stripe-mock/.test(file))) ensureStripeMock(say)
  } catch (error) {
    given[STRIPE_MOCK_MISSING_VARIABLE] = isMissing(error)
  }
  for (const stage of stages) {
    say(heading(stage.name))
    const from = performance.now()
    const counts = await stage.run()
    results.push({ ...counts, name: stage.name, ms: performance.now() - from })
  }

  if (failures.length > 0) say(heading('what failed, once more'))
  for (const failure of failures) say(failure)
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN)
  if (times.length > 1) say(heading(`the ${slowest.length} slowest of ${times.length} test files`))
  if (times.length > 1) for (const { file, ms } of slowest) say(`${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`)
  say(heading('stages'))
  for (const { name, ms, passed, failed } of results) {
    const verdict = failed > 0 ? 'FAILED' : 'ok'
    say(
      `${name.padEnd(16)} ${verdict.padEnd(7)} ${(ms / 1000).toFixed(1).padStart(6)} s  ${passed} passed, ${failed} failed`,
    )
  }
  finish(results)
}

/** The last line, and the exit. A leftover process may hold our handles open, so the exit is asked for, not waited for. */
function finish(results: readonly Counts[]): void {
  const passed = results.reduce((sum, one) => sum + one.passed, 0)
  const failed = results.reduce((sum, one) => sum + one.failed, 0)
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`, () => process.exit(failed === 0 && passed > 0 ? 0 : 1))
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const child of running) child.kill(signal)
    process.exit(1)
  })
}
await main(process.argv.slice(2))
