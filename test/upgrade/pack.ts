/**
 * `node bin/run.mjs test/upgrade/pack.ts COMMIT`: puts the version of that commit beside this file, for the tests of an upgrade: what its
 * processes need to run, without tests and installed packages, and a note of the migrations it has. The same commit gives the same bytes.
 * Run after a landing, with the commit that landed: a clean checkout may have no history to take it from.
 */

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { ARCHIVE, NOTE, ROOT } from './landed.ts'

/** Of these, what the commit has. */
const WHAT = ['src', 'web', 'client', 'bin', 'package.json', 'tsconfig.json']
const NOT = ['*.test.ts', '*.fixture.ts', '*.contract.ts', 'src/*/contract/*']
const ARCHIVE_BYTES_MAX = 700_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

function git(...args: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, maxBuffer: OUTPUT_BYTES_MAX })
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  return stdout
}

function main([wanted]: readonly string[]): void {
  if (wanted === undefined) throw new Error('usage: node bin/run.mjs test/upgrade/pack.ts COMMIT')
  const commit = git('rev-parse', '--verify', `${wanted}^{commit}`).toString().trim()
  const there = git('ls-tree', '--name-only', commit, '--', ...WHAT)
    .toString()
    .trim()
    .split('\n')
  const files = git('archive', '--format=tar', commit, '--', ...there, ...NOT.map(one => `:(exclude)${one}`))
  const archive = brotliCompressSync(files)
  if (archive.length > ARCHIVE_BYTES_MAX)
    throw new Error(`${archive.length} bytes are too many to carry along (${ARCHIVE_BYTES_MAX}): leave more out`)
  const listed = git('ls-tree', '--name-only', `${commit}:src/ledger/migrations`).toString().trim().split('\n')
  writeFileSync(ARCHIVE, archive)
  writeFileSync(NOTE, JSON.stringify({ commit, migrations: listed.toSorted() }))
  spawnSync(process.execPath, [join(ROOT, 'node_modules/@biomejs/biome/bin/biome'), 'format', '--write', NOTE])
  console.log(`${commit} is in ${relative(ROOT, ARCHIVE)}: ${archive.length} bytes, ${listed.length} migrations`)
}

main(process.argv.slice(2))
