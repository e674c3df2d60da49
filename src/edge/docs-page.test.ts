import { expect, test } from 'bun:test'
import { ALL_CALLS } from './calls/all-calls.ts'
import { docsPage, errorsPage } from './docs-page.ts'
import { describeCalls } from './openapi.ts'

test('everything on a page is inside its one main landmark', () => {
  for (const page of [docsPage(describeCalls(ALL_CALLS)), errorsPage()])
    expect(page).toMatch(/<body><main>(?:(?!<\/?main\b)[\s\S])*<\/main>\s*<\/body>/)
})
