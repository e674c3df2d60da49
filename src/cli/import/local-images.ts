/**
 * Pictures that lie beside a file of products: found and checked before anything is sent, then uploaded, each once. A name in the file leads
 * nowhere but into the file's own folder, also by a link: whoever wrote the table can't have other files of this machine published.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { IMAGE_BYTES_MAX, kindOfBytes } from '../../domain/image.ts'
import type { Client } from '../sale/client.ts'
import type { ImportedItem } from './products.ts'

/** Where they lie, by the name in the file. */
type LocalImages = ReadonlyMap<string, string>

/** @param path of the file of products */
export function findLocalImages(path: string, items: readonly ImportedItem[]) {
  const folder = realpathSync(dirname(path))
  const images = new Map<string, string>()
  const faults: string[] = []
  for (const { at, picture } of items) {
    if (picture === undefined || images.has(picture)) continue
    const found = findImage(folder, picture)
    if ('why' in found) faults.push(`${at}: image: ${found.why}`)
    else images.set(picture, found.file)
  }
  return { images, faults }
}

function findImage(folder: string, name: string): { readonly file: string } | { readonly why: string } {
  try {
    const file = realpathSync(join(folder, name))
    const within = relative(folder, file)
    if (within.startsWith('..') || isAbsolute(within))
      return { why: `"${name}" lies outside of the folder of this file` }
    const stat = statSync(file)
    if (!stat.isFile()) return { why: `"${name}" is not a file` }
    if (stat.size > IMAGE_BYTES_MAX) return { why: `"${name}" is larger than ${IMAGE_BYTES_MAX / 1e6} MB` }
    const kind = kindOfBytes(readFileSync(file))
    return kind === undefined ? { why: `"${name}" is not a PNG, JPEG, WebP, GIF or AVIF image` } : { file }
  } catch {
    return { why: `"${name}" is neither an http(s) address, nor a path, nor a file that can be read beside this one` }
  }
}

/** The addresses they are served at. */
export async function uploadImages(client: Client, images: LocalImages): Promise<ReadonlyMap<string, string>> {
  const addresses = new Map<string, string>()
  for (const [name, path] of images) {
    const file = readFileSync(path)
    const { image } = await client.ask<{ image: string }>('/api/admin/images', { method: 'POST', file })
    addresses.set(name, image)
  }
  return addresses
}
