/**
 * Where pre-rendered pages are put for a web server or a CDN. A file is replaced whole or not at all: a reader gets the old one or the new one.
 * The same file again changes nothing. Does not know what a sale is, and never deletes a file of its own accord.
 */

import { assert } from '../base/assert.ts'

export interface StaticFile {
  /** As `isPagePath` has it. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly cacheControl: string
}

export interface PageStore {
  /** What is there, of the paths that `isPagePath` accepts: path → tag. */
  list(): Promise<ReadonlyMap<string, string>>
  /** The tag that a file with these bytes is expected to have. A store whose tags can't be known has its files written once more. */
  tagOf(bytes: Uint8Array): string
  /** Returns the tag it has now. */
  put(file: StaticFile): Promise<string>
  /** A file that is not there is removed already. */
  remove(path: string): Promise<void>
}

/** What became of a file. */
export interface PageChange {
  readonly path: string
  readonly what: 'put' | 'removed'
}

/** Hears of changed files after they are in the store: at least once each, and the newest state last. */
export interface PageNotice {
  /** For the log and the operations page. */
  readonly name: string
  /** At most so many changes in a call. */
  readonly changesMax: number
  send(changes: readonly PageChange[]): Promise<void>
}

export const INDEX_PATH = 'index.html'
const SALE_PATH = /^s\/([1-9][0-9]{0,18})\.html$/
const ASSET_PATH = /^assets\/(?!ops-)[a-z]{1,20}-[0-9a-f]{16}\.(js|css|svg)$/

export const salePath = (sale: string) => `s/${sale}.html`

/** The sale whose page this is. */
export function saleOfPath(path: string): string | undefined {
  return SALE_PATH.exec(path)?.[1]
}

export function isPagePath(path: string): boolean {
  return path === INDEX_PATH || SALE_PATH.test(path) || isAssetPath(path)
}

/** Never changes under its name. */
export function isAssetPath(path: string): boolean {
  return ASSET_PATH.test(path)
}

/** No other path is ever written or removed, whatever a sale is called. */
export function assertPagePath(path: string): void {
  assert(isPagePath(path), `"${path}" is no path of a page`)
}
