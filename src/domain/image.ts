/**
 * Pictures that operators upload: which kinds are taken, told by their first bytes and never by what the sender calls them. SVG is not one of
 * them, because it can hold scripts.
 */

export const IMAGE_BYTES_MAX = 2_000_000
export const IMAGES_MAX = 2_000
export const IMAGES_BYTES_MAX = 500_000_000
export const IMAGES_PATH = '/images/'

/** By the ending of the name. */
export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
} as const
type ImageKind = keyof typeof IMAGE_TYPES

const NAME = /^[0-9a-f]{64}\.(png|jpg|webp|gif|avif)$/

/** The kind of the image that has this name; undefined: no image has it. */
export function kindOfName(name: string): ImageKind | undefined {
  return NAME.exec(name)?.[1] as ImageKind | undefined
}

/** Undefined: it is none of these. */
export function kindOfBytes(bytes: Uint8Array): ImageKind | undefined {
  const text = (from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to))
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (text(0, 3) === '\xff\xd8\xff') return 'jpg'
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'webp'
  if (text(0, 6) === 'GIF87a' || text(0, 6) === 'GIF89a') return 'gif'
  if (text(4, 8) === 'ftyp' && /^avi[fs]$/.test(text(8, 12))) return 'avif'
  return undefined
}
