/**
 * What a migration may not do while processes of the landed version are at work: read from its text alone, so that a finding names the line
 * of thought and not only its consequence. It sees no further than the words: what a function does inside is for the day that is played
 * (`landed-day.ts`). Tables and functions that the landed version does not know are free to be changed at will.
 */

interface Landed {
  readonly tables: ReadonlySet<string>
  readonly indexes: ReadonlySet<string>
  /** By name: how many arguments it takes. */
  readonly functions: ReadonlyMap<string, number>
}

interface Rule {
  /** A promise to the landed version; the test's name. */
  readonly name: string
  /** What is wrong with a statement, or nothing. */
  finds(statement: Statement, landed: Landed): string | undefined
  /** Made-up migrations over `MADE_UP`: each of these breaks the rule, each of those only looks like it. */
  readonly breaks: readonly string[]
  readonly keeps: readonly string[]
}

/** In lower case, blanks single, without comments; texts and bodies are emptied. */
interface Statement {
  readonly text: string
  /** Of an ALTER TABLE: which, and what is done to it, one by one. */
  readonly table: string | undefined
  readonly clauses: readonly string[]
}

export const MADE_UP = `CREATE TABLE orders (id bigint PRIMARY KEY, buyer text, quantity int);
  CREATE UNIQUE INDEX orders_buyer ON orders (buyer);
  CREATE FUNCTION place(p_item bigint, p_ids bigint[]) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;`

const GONE =
  /^drop (?:table|view|function|procedure|index|type|sequence|trigger)(?: concurrently)?(?: if exists)? (\w+)/

export const RULES: readonly Rule[] = [
  {
    name: 'nothing it uses is dropped',
    finds: ({ text, table, clauses }, { tables, indexes, functions }) => {
      const name = GONE.exec(text)?.[1] ?? ''
      if (tables.has(name) || functions.has(name) || indexes.has(name)) return text
      if (table === undefined || !tables.has(table)) return undefined
      return clauses.find(clause => /^drop (?!expression|identity)/.test(clause))
    },
    breaks: [
      'DROP TABLE orders',
      'DROP TABLE IF EXISTS orders CASCADE',
      'DROP FUNCTION place(bigint, bigint[])',
      'DROP INDEX CONCURRENTLY orders_buyer',
      'ALTER TABLE orders ADD COLUMN shard int, DROP COLUMN quantity',
      'ALTER TABLE ONLY orders DROP quantity',
      'ALTER TABLE orders DROP CONSTRAINT orders_pkey',
    ],
    keeps: [
      'CREATE TABLE moves (id int, old int); ALTER TABLE moves DROP COLUMN old; DROP TABLE moves',
      '-- DROP TABLE orders\nCREATE TABLE moves (id int)',
      "INSERT INTO notes VALUES ('; DROP TABLE orders;')",
      'CREATE FUNCTION tidy() RETURNS void LANGUAGE sql AS $$ DROP TABLE orders $$',
    ],
  },
  {
    name: 'nothing it uses gets another name or place',
    finds: ({ text }, { tables, functions }) => {
      const moved =
        /^alter (?:table|function|procedure|view)(?: if exists)?(?: only)? (\w+).* (?:rename|set schema) ?/.exec(text)
      const name = moved?.[1] ?? ''
      return tables.has(name) || functions.has(name) ? text : undefined
    },
    breaks: [
      'ALTER TABLE orders RENAME COLUMN quantity TO pieces',
      'ALTER TABLE orders RENAME TO purchases',
      'ALTER FUNCTION place(bigint, bigint[]) RENAME TO place_all',
      'ALTER TABLE orders SET SCHEMA old',
    ],
    keeps: [
      'CREATE TABLE moves (id int); ALTER TABLE moves RENAME TO shard_moves',
      'ALTER INDEX orders_buyer RENAME TO x',
    ],
  },
  {
    name: 'no column of it changes its type',
    finds: ({ table, clauses }, { tables }) =>
      table === undefined || !tables.has(table)
        ? undefined
        : clauses.find(clause => /^alter (?:column )?\w+ (?:set data )?type /.test(clause)),
    breaks: [
      'ALTER TABLE orders ALTER COLUMN quantity TYPE bigint',
      'ALTER TABLE orders ALTER quantity SET DATA TYPE bigint',
    ],
    keeps: ['ALTER TABLE orders ADD COLUMN type text', 'ALTER TABLE orders ALTER COLUMN quantity SET STATISTICS 100'],
  },
  {
    name: 'what it writes is taken as before',
    finds: ({ text, table, clauses }, { tables }) => {
      const guarded =
        /^create (?:unique index|(?:constraint )?trigger|(?:or replace )?rule) .*? (?:on|to) (?:only )?(\w+)/.exec(
          text,
        )?.[1]
      if (guarded !== undefined && tables.has(guarded)) return text
      if (table === undefined || !tables.has(table)) return undefined
      return clauses.find(
        clause =>
          /^add (?:constraint|check|unique|primary key|foreign key|exclude)\b/.test(clause) ||
          /^alter (?:column )?\w+ (?:set not null|drop default)/.test(clause) ||
          (/^add .*\bnot null\b/.test(clause) && !/\b(?:default|generated)\b/.test(clause)),
      )
    },
    breaks: [
      'ALTER TABLE orders ADD COLUMN shard int NOT NULL',
      'ALTER TABLE orders ADD COLUMN shard int NOT NULL DEFAULT 0; ALTER TABLE orders ALTER COLUMN shard DROP DEFAULT',
      'ALTER TABLE orders ALTER quantity SET NOT NULL',
      'ALTER TABLE orders ADD CONSTRAINT few CHECK (quantity < 5) NOT VALID',
      'ALTER TABLE orders ADD CHECK (quantity < 5)',
      'CREATE UNIQUE INDEX one_each ON orders (buyer)',
      'CREATE TRIGGER careful BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION look()',
    ],
    keeps: [
      'ALTER TABLE orders ADD COLUMN shard int NOT NULL DEFAULT 0 CHECK (shard BETWEEN 0 AND 63)',
      'ALTER TABLE orders ADD COLUMN note text',
      'CREATE INDEX orders_shard ON orders (quantity)',
      'CREATE TABLE moves (id int NOT NULL, CHECK (id > 0)); CREATE UNIQUE INDEX one_move ON moves (id)',
    ],
  },
  {
    name: 'its calls mean one function',
    finds: ({ text }, { functions }) => {
      const [, name = '', list] = /^create (?:or replace )?function (\w+) ?(\(.*?\)) returns /.exec(text) ?? []
      const takes = functions.get(name)
      if (takes === undefined || list === undefined) return undefined
      const given = split(list.slice(1, -1))
      const needed = given.filter(one => !/ default | ?= ?/.test(one)).length
      return given.length > takes && needed <= takes ? text : undefined
    },
    breaks: [
      'CREATE FUNCTION place(p_item bigint, p_ids bigint[], p_shard int DEFAULT 0) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    ],
    keeps: [
      'CREATE OR REPLACE FUNCTION place(p_item bigint, p_ids bigint[]) RETURNS int LANGUAGE sql AS $$ SELECT 2 $$',
      'CREATE FUNCTION place(p_item bigint, p_ids bigint[], p_shard int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    ],
  },
  {
    name: 'it can be read before it is run',
    finds: ({ text }) => (/^(?:do|execute|call)\b/.test(text) ? text : undefined),
    breaks: ['DO $$ BEGIN DROP TABLE orders; END $$'],
    keeps: ['UPDATE orders SET quantity = 1 WHERE quantity IS NULL'],
  },
]

/** What of a migration breaks a rule, one line each; `before` is all that the landed version was made with. */
export function offences(rule: Rule, before: string, migration: string): readonly string[] {
  const landed = readLanded(before)
  return statementsOf(migration).flatMap(statement => rule.finds(statement, landed) ?? [])
}

function readLanded(text: string): Landed {
  const statements = statementsOf(text).map(statement => statement.text)
  const named = (form: RegExp) => statements.flatMap(statement => form.exec(statement)?.[1] ?? [])
  const functions = statements.flatMap(statement => {
    const [, name, list] = /^create (?:or replace )?function (\w+) ?\((.*?)\) returns /.exec(statement) ?? []
    return name === undefined || list === undefined ? [] : [[name, split(list).length] as const]
  })
  return {
    tables: new Set(named(/^create table (?:if not exists )?(\w+)/)),
    indexes: new Set(named(/^create unique index (\w+)/)),
    functions: new Map(functions),
  }
}

function statementsOf(sql: string): readonly Statement[] {
  return sql
    .replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$/g, found =>
      /^['$]/.test(found) ? "''" : ' ',
    )
    .toLowerCase()
    .split(';')
    .map(one => one.replace(/\s+/g, ' ').trim())
    .filter(one => one !== '')
    .map(text => {
      const [, table, rest = ''] = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/.exec(text) ?? []
      return { text, table, clauses: split(rest) }
    })
}

/** At the commas that stand in no brackets. */
function split(list: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let part = ''
  for (const sign of list) {
    if ('(['.includes(sign)) depth += 1
    if (')]'.includes(sign)) depth -= 1
    if (sign === ',' && depth === 0) {
      parts.push(part.trim())
      part = ''
    } else part += sign
  }
  return [...parts, part.trim()].filter(one => one !== '')
}
