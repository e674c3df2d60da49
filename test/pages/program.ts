/** versitygw: a server that speaks S3's protocol, with objects as files in a folder. It verifies the signature of every request. */

import { ensureGoProgram, type GoProgram } from '../go-program.ts'

const VERSITYGW: GoProgram = {
  name: 'versitygw',
  module: 'github.com/versity/versitygw/cmd/versitygw',
  version: 'v1.8.0',
  goVersionMin: 22,
  needs: 'the tests of pages in a bucket',
  missingVariable: 'STAMPEDE_TEST_VERSITYGW_MISSING',
}

export const VERSITYGW_MISSING_VARIABLE = VERSITYGW.missingVariable

/** The program's path. */
export function ensureVersitygw(say: (line: string) => void): string {
  return ensureGoProgram(VERSITYGW, say)
}
