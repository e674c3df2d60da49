import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemRandom } from '../../base/random.ts'
import { runsAsRoot } from './account.ts'
import { findBinaries, type Programs, usableBinaries } from './binaries.ts'
import { NOBODY, Scratch } from './scratch.fixture.ts'

type Binaries = ReturnType<typeof findBinaries>

setDefaultTimeout(300_000)

const nobody = { name: 'nobody', ...NOBODY }

let scratch: Scratch
let copies: string[] = []
beforeEach(() => {
  scratch = new Scratch()
  copies = []
})
afterEach(async () => {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
  await scratch.undo()
})

/** The package as an install without scripts leaves it: no links. The version is the test's own, so are the copies made of it. */
function installWithoutScripts(folder: string): Binaries {
  cpSync(join(findBinaries().packageFolder, 'native'), join(folder, 'native'), {
    recursive: true,
    filter: path => !lstatSync(path).isSymbolicLink() && !path.endsWith('.a'),
  })
  return { packageFolder: folder, version: `18.0.0-test${Buffer.from(systemRandom.bytes(6)).toString('hex')}` }
}

/** The output of a program; remembers a copy for removal. */
function run(programs: Programs, from: Binaries, account?: { uid: number; gid: number }): string {
  rememberCopy(programs, from)
  const { stdout, stderr } = spawnSync(programs.postgres, ['--version'], { encoding: 'utf8', cwd: '/', ...account })
  return stdout || stderr
}

function rememberCopy(programs: Programs, from: Binaries): string {
  const folder = dirname(dirname(dirname(programs.postgres)))
  if (folder !== from.packageFolder && folder.includes(from.version)) copies.push(folder)
  return folder
}

test('finds the programs of this platform, with their version', () => {
  const binaries = findBinaries()
  expect(run(usableBinaries(binaries, undefined), binaries)).toStartWith(
    `postgres (PostgreSQL) ${binaries.version.split('.')[0]}`,
  )
})

test('runs where the package was installed without its scripts', () => {
  const binaries = installWithoutScripts(scratch.folder())
  const programs: Programs = {
    postgres: join(binaries.packageFolder, 'native', 'bin', 'postgres'),
    initdb: '',
    major: '',
  }
  expect(run(programs, binaries)).toContain('error while loading shared libraries')
  expect(usableBinaries(binaries, undefined).postgres).toBe(programs.postgres)
  expect(run(programs, binaries)).toStartWith('postgres (PostgreSQL)')
})

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())('runs where the package has no links and can not be written', () => {
  const binaries = installWithoutScripts(scratch.folder())
  const script = `
    const { usableBinaries } = await import(${JSON.stringify(scratch.reachable(join(import.meta.dirname, 'binaries.ts')))})
    console.log(JSON.stringify(usableBinaries(${JSON.stringify(binaries)}, undefined)))`
  const said = spawnSync(scratch.reachable(process.execPath), ['-e', script], { encoding: 'utf8', cwd: '/', ...NOBODY })
  const programs: Programs = JSON.parse(said.stdout)
  expect(rememberCopy(programs, binaries)).toStartWith(tmpdir())
  expect(run(programs, binaries, NOBODY)).toStartWith('postgres (PostgreSQL)')
  expect(readdirSync(join(binaries.packageFolder, 'native', 'lib'))).not.toContain('libpq.so')
})

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())(
  'as root: copies the programs out of a closed folder once, where only root can change them',
  () => {
    const binaries = installWithoutScripts(scratch.folder(0o700))
    const programs = usableBinaries(binaries, nobody)
    expect(run(programs, binaries, NOBODY)).toStartWith('postgres (PostgreSQL)')
    const copy = rememberCopy(programs, binaries)
    expect(copy).toStartWith('/var/lib/stampede/postgres-18.0.0-test')
    expect([statSync(copy).uid, statSync(copy).mode & 0o777]).toEqual([0, 0o755])
    const made = statSync(programs.postgres).ino
    expect(usableBinaries(binaries, nobody)).toEqual(programs)
    expect(statSync(programs.postgres).ino).toBe(made)

    // Anybody could have put another program there: not run.
    chmodSync(copy, 0o777)
    expect(rememberCopy(usableBinaries(binaries, nobody), binaries)).toStartWith(tmpdir())
  },
)

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())('as root: copies the programs when they were installed for root alone', () => {
  const binaries = installWithoutScripts(scratch.folder())
  chmodSync(join(binaries.packageFolder, 'native', 'bin', 'postgres'), 0o700)
  const programs = usableBinaries(binaries, nobody)
  expect(run(programs, binaries, NOBODY)).toStartWith('postgres (PostgreSQL)')
  expect(rememberCopy(programs, binaries)).not.toBe(binaries.packageFolder)
})
