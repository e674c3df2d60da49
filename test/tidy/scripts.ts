/** SQL and Lua are source: each file says what it is, is called by somebody, and stands in its row. */

import { type Rule, tree } from './rule.ts'
import type { File } from './tree.ts'

/** The leading comment lines of a SQL or Lua file, without the dashes. */
function header(file: File): string[] {
  const lines: string[] = []
  for (const line of file.text.split('\n')) {
    if (!line.startsWith('--')) break
    lines.push(line.replace(/^--\s?/, ''))
  }
  return lines
}

/** What is wrong with the header of a SQL or Lua file, if anything. */
function headerFault(file: File, words: readonly string[]): string | undefined {
  const stem = (file.path.split('/').at(-1) as string).replace(/\.\w+$/, '').replace(/^\d{4}_/, '')
  const lines = header(file)
  if (!new RegExp(`^${stem}: .{10,}`).test(lines[0] ?? '')) return `must open with "-- ${stem}: what it does"`
  const missing = words.filter(word => !lines.some(line => new RegExp(`^\\s*(.*\\s{2,})?${word}\\s+\\S`).test(line)))
  return missing.length === 0 ? undefined : `header lacks ${missing.map(word => `"-- ${word} …"`).join(', ')}`
}

/** `place` for src/ledger/sql/place.sql. */
function operationOf(path: string): string | undefined {
  return /^src\/ledger\/sql\/(.+)\.sql$/.exec(path)?.[1]
}

/**
 * What the header must say. A statement of `ledger/sql` says nothing of what it does not have: parameters, rows, or a change that keeps an
 * invariant; and nothing that `functions/` says of the function it calls. Code that Lua scripts share has no call of its own.
 */
function wordsOf({ path, text }: File, files: readonly File[]): readonly string[] {
  if (/\/(prelude|lib)\.lua$/.test(path)) return ['Keeps']
  if (path.endsWith('.lua')) return ['KEYS', 'ARGV', 'Returns', 'Keeps']
  if (!path.endsWith('.sql')) return []
  const operation = operationOf(path)
  if (operation === undefined) return ['In', 'Out', 'Keeps']
  const called = files.some(file => file.path === `src/ledger/functions/${operation}.sql`)
  if (called && text.startsWith(`-- ${operation}: calls functions/${operation}.sql`)) return []
  const statement = text.replace(/^--.*$/gm, '').trim()
  const has: readonly [string, RegExp][] = [
    ['In', /\$\d/],
    ['Out', /^(SELECT|WITH)\b|\bRETURNING\b/],
    ['Keeps', /\b(INSERT|UPDATE|DELETE)\b/],
  ]
  return has.filter(([, pattern]) => pattern.test(statement)).map(([word]) => word)
}

export const headersOfScripts: Rule = {
  name: 'every SQL and Lua file opens with its name and what it has of In, Out and Keeps (Lua: KEYS, ARGV, Returns, Keeps)',
  remedy: 'Write the header as CONTRIBUTING.md shows it: the first line names the file, then one line for each.',
  check(files) {
    const found: string[] = []
    for (const file of files.filter(one => /^src\/.*\.(sql|lua)$/.test(one.path))) {
      const fault = headerFault(file, wordsOf(file, files))
      if (fault !== undefined) found.push(`${file.path}: ${fault}`)
    }
    return found
  },
  breaks: [
    tree('src/ledger/sql/set_door.sql', 'UPDATE items SET door = $1'),
    tree(
      'src/ledger/sql/set_door.sql',
      '-- raise_epoch: another operation\n-- In  item\n-- Out  a row\n-- Keeps  E3\nUPDATE',
    ),
    tree('src/ledger/sql/set_door.sql', '-- set_door: opens an item\n-- In  item\n-- Out  a row\nUPDATE'),
    tree('src/ledger/sql/set_door.sql', '-- set_door: opens an item\n-- In  item\nUPDATE\n-- Out  a row\n-- Keeps  E3'),
    tree('src/ledger/sql/now.sql', "-- now: the ledger's clock\nSELECT clock_timestamp()"),
    tree('src/ledger/sql/raise_epoch.sql', '-- raise_epoch: fences\n-- Keeps  E3\nUPDATE items RETURNING epoch'),
    tree(
      'src/ledger/sql/set_door.sql',
      '-- set_door: opens an item\n-- Out  id\n-- Keeps  E3\nUPDATE items WHERE id = $1',
    ),
    tree('src/ledger/sql/place.sql', '-- place: calls functions/place.sql, which is not there\nSELECT place($1)'),
    tree('src/ledger/functions/place.sql', 'CREATE OR REPLACE FUNCTION place'),
    tree('src/ledger/functions/place.sql', '-- place: decides a batch\n-- In  item\n-- Out  a row\n\nCREATE'),
    tree(
      'src/gate/redis/scripts/reserve.lua',
      '-- reserve: decides a batch\n-- KEYS  gate\n-- Keeps  all of it\nreturn 1',
    ),
  ],
  keeps: [
    tree('src/gate/redis/scripts/lib.lua', '-- lib: what all scripts share\n-- Keeps  nothing is written'),
    tree('src/ledger/sql/set_door.sql', '-- set_door: opens an item\n-- In  item\n-- Out  a row\n-- Keeps  E3\nUPDATE'),
    tree('src/ledger/sql/now.sql', "-- now: the ledger's clock\n-- Out  now\nSELECT clock_timestamp()"),
    tree(
      'src/ledger/sql/write_log.sql',
      '-- write_log: a line of it\n-- In  by\n-- Keeps  it\nINSERT INTO log VALUES ($1)',
    ),
    tree(
      'src/ledger/functions/place.sql',
      '-- place: decides a batch\n-- In  item\n-- Out  a row\n-- Keeps  E5\n-- Locks  items\n\nCREATE',
      'src/ledger/sql/place.sql',
      '-- place: calls functions/place.sql; In, Out and Keeps are said there\nSELECT place($1)',
    ),
    tree(
      'src/ledger/migrations/0001_tables.sql',
      '-- tables: all the tables\n-- In  nothing\n-- Out  tables\n-- Keeps  checks\n\nCREATE',
    ),
    tree(
      'src/gate/redis/scripts/reserve.lua',
      '-- reserve: decides a batch\n-- KEYS  gate    ARGV  epoch\n-- Returns  status\n-- Keeps  all\nreturn 1',
    ),
  ],
}

export const operationsUsed: Rule = {
  name: 'every SQL operation is called by name somewhere in src',
  remedy: "Call it (database.run('name', …)) or delete the file.",
  check(files) {
    const code = files.filter(
      file => file.path.startsWith('src/') && file.path.endsWith('.ts') && !file.path.endsWith('.test.ts'),
    )
    return files
      .filter(({ path }) => {
        const operation = operationOf(path)
        return operation !== undefined && !code.some(file => file.text.includes(`'${operation}'`))
      })
      .map(({ path }) => `${path}: nothing calls it`)
  },
  breaks: [
    tree('src/ledger/sql/raise_epoch.sql', ''),
    tree('src/ledger/sql/raise_epoch.sql', '', 'src/ledger/postgres/orders.test.ts', "run('raise_epoch', [])"),
  ],
  keeps: [tree('src/ledger/sql/raise_epoch.sql', '', 'src/ledger/postgres/orders.ts', "run('raise_epoch', [])")],
}

export const migrationsInARow: Rule = {
  name: 'migrations are numbered from 0001 without gaps or doubles',
  remedy: 'Give the new migration the next number: NNNN_name.sql. Released ones are never renamed.',
  check(files) {
    const names = files.flatMap(file => /^src\/ledger\/migrations\/(.+)$/.exec(file.path)?.[1] ?? []).sort()
    return names
      .filter((name, i) => !new RegExp(`^${String(i + 1).padStart(4, '0')}_[a-z0-9_]+\\.sql$`).test(name))
      .map(name => `src/ledger/migrations/${name}: is out of the row`)
  },
  breaks: [
    tree('src/ledger/migrations/0002_b.sql', ''),
    tree('src/ledger/migrations/0001_a.sql', '', 'src/ledger/migrations/0001_b.sql', ''),
    tree('src/ledger/migrations/0001_a.sql', '', 'src/ledger/migrations/0003_b.sql', ''),
    tree('src/ledger/migrations/0001-a.sql', ''),
  ],
  keeps: [tree('src/ledger/migrations/0001_a.sql', '', 'src/ledger/migrations/0002_b.sql', '')],
}
