/**
 * Copies the data of a running PostgreSQL so that the copy starts as of one moment: `pg_backup_start`, then the files as they change, then
 * `pg_backup_stop` and the write-ahead log written meanwhile; replaying it makes the files consistent.
 *
 * Guarantees: the copy holds everything committed before the call, and what is committed up to `pg_backup_stop`. A replication slot of this
 * session keeps PostgreSQL from recycling log files that are still needed; slot and backup mode end with the session, also when this
 * process is killed.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type QueryResultRow } from 'pg'
import { assert } from '../../../base/assert.ts'
import { Fault } from '../../../base/fault.ts'
import { errnoOf, messageOf } from '../errno.ts'
import { runningSocketFolder } from '../leftover.ts'
import { connectionTo } from '../postmaster.ts'
import {
  copyFiles,
  type HashedFile,
  listTree,
  makeFolders,
  type OnProgress,
  syncFolders,
  type Tree,
  writeWhole,
} from './file-copy.ts'

const CONNECT_MS_MAX = 5_000
const CONTROL = 'global/pg_control'
const CONTROL_READS_MAX = 100

/** PostgreSQL makes these files at every start, or must not find those of another run. The folders themselves are needed. */
const EMPTIED = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\//
const LEFT_OUT =
  /(^|\/)(pgsql_tmp[^/]*|pg_internal\.init[^/]*)$|^(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map(\.old)?|[^/]*\.tmp)$/
/** Folders in the emptied ones that PostgreSQL expects. */
const WAL_FOLDERS = /^pg_wal\/(archive_status|summaries)$/

/** Copies the data in `dataFolder` into `to`, an empty folder. */
export async function copyRunning(dataFolder: string, to: string, onProgress: OnProgress): Promise<Tree<HashedFile>> {
  const socketFolder = runningSocketFolder(dataFolder)
  if (socketFolder === undefined) {
    const why = 'the server that has the data folder is starting or stopping; try again in a moment'
    throw new Fault('backup_not_now', why, { retryable: true })
  }
  const client = new Client({
    ...connectionTo(socketFolder),
    application_name: 'stampede backup',
    connectionTimeoutMillis: CONNECT_MS_MAX,
  })
  let lost: Error | undefined
  client.on('error', error => {
    lost ??= error
  })
  try {
    await client.connect()
    return await copyBeside(client, dataFolder, to, onProgress)
  } catch (error) {
    // An error of the system (a full disk) says more than the connection that broke with it.
    if (error instanceof Fault || (errnoOf(error) !== undefined && lost === undefined && 'syscall' in Object(error)))
      throw error
    throw new Fault('backup_failed', `PostgreSQL refused or ended the backup: ${messageOf(error)}`, {
      retryable: true,
      cause: error,
    })
  } finally {
    await client.end().catch(() => {})
  }
}

async function copyBeside(
  client: Client,
  dataFolder: string,
  to: string,
  onProgress: OnProgress,
): Promise<Tree<HashedFile>> {
  await client.query('SELECT pg_create_physical_replication_slot($1, true, true)', [`stampede_backup_${process.pid}`])
  const started = await one<{ lsn: string }>(client, `SELECT pg_backup_start('stampede', true) AS lsn`)

  const tree = await listTree(
    dataFolder,
    path => !LEFT_OUT.test(path) && (!EMPTIED.test(path) || WAL_FOLDERS.test(path)),
  )
  if (tree.folders.some(path => path.startsWith('pg_tblspc/')))
    throw new Fault(
      'backup_tablespaces',
      'the database uses tablespaces outside its folder; this backup does not copy them',
    )
  await makeFolders(to, tree.folders)
  const plain = tree.files.filter(file => file.path !== CONTROL)
  const files = [...(await copyFiles(dataFolder, to, plain, onProgress))]
  // Last, as PostgreSQL's own tool does: it may be newer than the files, never older.
  files.push(await writeWhole(to, CONTROL, await readControl(dataFolder)))

  const stopped = await one<{ lsn: string; labelfile: string; spcmapfile: string }>(
    client,
    'SELECT lsn, labelfile, spcmapfile FROM pg_backup_stop(false)',
  )
  files.push(await writeWhole(to, 'backup_label', stopped.labelfile))
  if (stopped.spcmapfile.trim() !== '') files.push(await writeWhole(to, 'tablespace_map', stopped.spcmapfile))
  files.push(...(await copyWal(client, dataFolder, to, toNumber(started.lsn), toNumber(stopped.lsn), onProgress)))
  await syncFolders(to, tree.folders)
  return { folders: tree.folders, files }
}

/** Read until two reads are equal: PostgreSQL may be rewriting it. */
async function readControl(dataFolder: string): Promise<Uint8Array> {
  let before = await readFile(join(dataFolder, CONTROL))
  for (let i = 0; i < CONTROL_READS_MAX; i++) {
    const now = await readFile(join(dataFolder, CONTROL))
    if (now.equals(before)) return now
    before = now
  }
  throw new Fault('backup_failed', `${CONTROL} changes faster than it can be read`, { retryable: true })
}

/** The log from where the replay begins to where the backup ended. Each file must exist, whole. */
async function copyWal(
  client: Client,
  dataFolder: string,
  to: string,
  start: bigint,
  stop: bigint,
  onProgress: OnProgress,
): Promise<readonly HashedFile[]> {
  const wal = await one<{ bytes: string; timeline: number }>(
    client,
    `SELECT setting AS bytes, (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline FROM pg_settings WHERE name = 'wal_segment_size'`,
  )
  const bytes = Number(wal.bytes)
  const wanted = walNames(start, stop, BigInt(bytes), wal.timeline)
  const { files } = await listTree(join(dataFolder, 'pg_wal'), path => !path.includes('/') && !path.endsWith('.tmp'))
  const histories = files.filter(file => file.path.endsWith('.history'))
  const logs = [...wanted.map(path => ({ path, bytes })), ...histories]
  const copied = await copyFiles(join(dataFolder, 'pg_wal'), join(to, 'pg_wal'), logs, onProgress)
  for (const name of wanted) {
    if (copied.find(file => file.path === name)?.bytes !== bytes)
      throw new Fault('backup_wal', `the log file ${name} was gone before it was copied; take the backup again`, {
        retryable: true,
      })
  }
  return copied.map(file => ({ ...file, path: `pg_wal/${file.path}` }))
}

/** PostgreSQL's names: timeline, then the segment's number in two halves, each in eight hexadecimal digits. */
function walNames(start: bigint, stop: bigint, bytes: bigint, timeline: number): string[] {
  const perHalf = 0x1_0000_0000n / bytes
  const hex = (value: bigint) => value.toString(16).toUpperCase().padStart(8, '0')
  const names: string[] = []
  // `stop` is the first byte that is not needed any more.
  for (let no = start / bytes; no <= (stop - 1n) / bytes; no++)
    names.push(`${hex(BigInt(timeline))}${hex(no / perHalf)}${hex(no % perHalf)}`)
  return names
}

async function one<R extends QueryResultRow>(client: Client, statement: string): Promise<R> {
  const [row] = (await client.query<R>(statement)).rows
  assert(row !== undefined, `PostgreSQL answered no row to ${statement}`)
  return row
}

/** `16/B374D848`: the halves of a 64-bit position. */
function toNumber(lsnText: string): bigint {
  const [high, low] = lsnText.split('/')
  assert(high !== undefined && low !== undefined, `"${lsnText}" is not a position in the log`)
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
