/** The settings of the pre-rendered pages: where they are put, and what hears of a change (docs/static-pages.md). */

import { isAbsolute, normalize } from 'node:path'
import { z } from 'zod'
import { setting } from './setting.ts'

const absolute = z
  .string()
  .refine(text => isAbsolute(text) && !text.includes('\0'), 'must be an absolute path')
  .transform(text => normalize(text))

export const PAGES_SETTINGS = {
  PAGES_DIR: setting({
    about:
      'A folder for the pages of sales as files, with their data inside: what the shipped nginx serves. Written by the process that leads, on every change of a sale.',
    schema: absolute,
  }),
}
