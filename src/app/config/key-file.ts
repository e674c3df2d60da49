/** A key that lies in a file: read at the start, checked like one in the environment, and never told in a message. */

import { readFileSync } from 'node:fs'
import type { z } from 'zod'

const KEY_FILE_BYTES_MAX = 64 * 1024

export function readKeyFile(
  file: string,
  schema: z.ZodType,
): { readonly value: unknown } | { readonly problem: string } {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    return { problem: `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})` }
  }
  if (text === '') return { problem: `${file} is empty` }
  if (text.length > KEY_FILE_BYTES_MAX) return { problem: `${file} is too large for a key` }
  const parsed = schema.safeParse(text)
  return parsed.success ? { value: parsed.data } : { problem: `what ${file} holds ${parsed.error.issues[0]?.message}` }
}
