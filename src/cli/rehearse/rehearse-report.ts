/** Where the report of a rehearsal goes. The path is checked before anything begins: a bad path must not cost a verdict. */

import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '../../app/config/config.ts'
import { Fault } from '../../base/fault.ts'
import { renderReport } from '../../rehearsal/report/report.ts'
import type { Rehearsal } from '../../rehearsal/result.ts'

export function checkReportPath(wished: string | undefined): void {
  if (wished === undefined) return
  const folder = dirname(resolve(wished))
  if (isFolder(wished)) throw new ConfigError(`--report: ${wished} is a folder, not a file`)
  if (!isFolder(folder)) throw new ConfigError(`--report: there is no folder ${folder}`)
  if (!isWritable(existsSync(wished) ? wished : folder)) throw new ConfigError(`--report: ${wished} can not be written`)
}

export function writeReport(wished: string | undefined, result: Rehearsal): string {
  const html = renderReport(result)
  const name = `rehearsal-${result.startedAt.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}.html`
  const path = wished ?? (isWritable(process.cwd()) ? resolve(name) : join(tmpdir(), name))
  try {
    writeFileSync(path, html)
  } catch (error) {
    throw new Fault('report_not_written', `the report could not be written to ${path}: ${(error as Error).message}`)
  }
  return path
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
