/**
 * `manifest.json` of a backup: its files, each with its SHA-256, and the versions that made it. Written last, so a backup with a manifest is
 * complete. `verifyBackup` requires every listed file, unchanged, and no other.
 * Guards against damage, not against an attacker who rewrites files and manifest.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { Fault } from '../../../base/fault.ts'
import { ifExists } from '../errno.ts'
import { copyFiles, listTree, type OnProgress } from './file-copy.ts'

export const MANIFEST = 'manifest.json'
const FORMAT = 1

/** Files of a data folder beside `postgres` that belong to a backup: secrets in use, and the sandbox's payments. */
export const KEPT_FILES = [
  'ticket-key',
  'guest-secret',
  'admin-token',
  'sandbox-secret',
  'sandbox-payments.jsonl',
] as const

const schema = z.object({
  format: z.literal(FORMAT),
  stampede: z.string(),
  postgres: z.string(),
  takenAt: z.string(),
  /** running: taken beside a running server, consistent at `takenAt`; stopped: no server had the folder. */
  of: z.enum(['running', 'stopped']),
  folders: z.array(z.string()),
  files: z.array(z.object({ path: z.string(), bytes: z.int().min(0), sha256: z.string().length(64) })),
})

export type Manifest = Readonly<z.output<typeof schema>>

export function manifestText(manifest: Omit<Manifest, 'format' | 'stampede'>): string {
  return `${JSON.stringify({ format: FORMAT, stampede: stampedeVersion(), ...manifest }, undefined, 1)}\n`
}

/** The manifest, if every file is as listed. Otherwise a Fault that names the first that is not. */
export async function verifyBackup(folder: string, onProgress: OnProgress): Promise<Manifest> {
  const manifest = readManifest(folder)
  const tree = await listTree(folder, path => path !== MANIFEST)
  const listed = new Set(manifest.files.map(file => file.path))
  const strange = tree.files.map(file => file.path).find(path => !listed.has(path) || !isPart(path))
  if (strange !== undefined) throw damaged(folder, `${strange} does not belong to it`)
  const folders = new Set(tree.folders)
  const lost = manifest.folders.find(path => !folders.has(path))
  if (lost !== undefined) throw damaged(folder, `the folder ${lost} is missing`)
  const hashed = new Map((await copyFiles(folder, undefined, tree.files, onProgress)).map(file => [file.path, file]))
  for (const { path, bytes, sha256 } of manifest.files) {
    const found = hashed.get(path)
    if (found === undefined) throw damaged(folder, `${path} is missing`)
    if (found.bytes !== bytes) throw damaged(folder, `${path} has ${found.bytes} bytes instead of ${bytes}`)
    if (found.sha256 !== sha256) throw damaged(folder, `${path} was changed`)
  }
  return manifest
}

function isPart(path: string): boolean {
  return path.startsWith('postgres/') || KEPT_FILES.some(kept => kept === path)
}

function readManifest(folder: string): Manifest {
  const text = ifExists(() => readFileSync(join(folder, MANIFEST), 'utf8'))
  if (text === undefined) throw new Fault('backup_missing', `${folder} is not a backup: there is no ${MANIFEST} in it`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Fault('backup_damaged', `the backup in ${folder} is damaged: ${MANIFEST} can't be read`, { cause })
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const format = (value as { format?: unknown } | null)?.format
  if (typeof format === 'number' && format !== FORMAT)
    throw new Fault(
      'backup_format',
      `the backup in ${folder} has format ${format}, and this version reads ${FORMAT}: use the version that made it`,
    )
  throw damaged(folder, `${MANIFEST} is not as it was written`)
}

function damaged(folder: string, how: string): Fault {
  return new Fault('backup_damaged', `the backup in ${folder} is damaged: ${how}; nothing was restored`)
}

function stampedeVersion(): string {
  const path = fileURLToPath(new URL('../../../../package.json', import.meta.url))
  return String(JSON.parse(readFileSync(path, 'utf8')).version)
}
