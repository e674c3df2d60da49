import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createBuyerTokens } from '../src/admission/buyer-token.ts'
import { systemClock } from '../src/base/clock.ts'
import { BUYER_JWT_SECRET } from './harness/stampede.ts'

const page = readFileSync(resolve(import.meta.dirname, '../docs/integrating.md'), 'utf8')

const SNIPPETS = [
  { language: 'js', program: 'node', args: [], file: 'token.mjs' },
  { language: 'python', program: 'python3', args: [], file: 'token.py' },
  { language: 'go', program: 'go', args: ['run'], file: 'token.go' },
]

describe('docs/integrating.md: the buyer token signed in', () => {
  for (const { language, program, args, file } of SNIPPETS) {
    // Only languages that this machine speaks can be tried; Node is always there.
    test.if(Bun.which(program) !== null)(`${language}, as printed, names the buyer`, async () => {
      const code = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1]
      if (code === undefined) throw new Error(`there is no ${language} in the page`)
      const folder = mkdtempSync(join(tmpdir(), 'stampede-snippet-'))
      try {
        writeFileSync(join(folder, file), code)
        const token = execFileSync(program, [...args, join(folder, file)], {
          env: { ...process.env, BUYER_JWT_SECRET },
          encoding: 'utf8',
        }).trim()
        const trusted = { clock: systemClock, secret: BUYER_JWT_SECRET, issuer: 'my-shop', audience: 'stampede' }
        expect(await createBuyerTokens(trusted).verify(token)).toBe('ada')
        expect(await createBuyerTokens({ ...trusted, audience: 'elsewhere' }).verify(token)).toBeUndefined()
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
