/** `docs/reference/errors.md`, made from the catalogue of problems. A test compares the two, so the page can't fall behind. */

import { type Call, problemsOf } from './call.ts'
import { ALL_CALLS } from './calls/all-calls.ts'
import { GUIDE } from './problem-guide.ts'
import { PROBLEMS, type ProblemCode } from './problems.ts'

/** Anybody may meet these anywhere. */
const EVERYWHERE: readonly ProblemCode[] = ['internal', 'busy', 'body_too_large', 'method_not_allowed', 'not_found']

export function renderErrorsReference(): string {
  return [
    '# Problem codes',
    '',
    'Made from `src/edge/problems.ts` and `src/edge/problem-guide.ts` by `npm run reference`; a test compares the two.',
    '',
    'Every error is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail` and `code`. Programs go by `code`; the words may',
    'change. A running server shows the same at `/docs/errors`, and `type` leads there.',
    '',
    ...(Object.keys(PROBLEMS) as ProblemCode[]).flatMap(section),
  ].join('\n')
}

function section(code: ProblemCode): readonly string[] {
  const { status, title } = PROBLEMS[code]
  const { means, todo, more, headers } = GUIDE[code]
  const calls = EVERYWHERE.includes(code) ? [] : ALL_CALLS.filter(call => problemsOf(call).includes(code))
  return [
    `## ${code}`,
    '',
    `**${status}** ${title}.`,
    '',
    means,
    '',
    `What to do: ${todo}`,
    '',
    ...(more === undefined ? [] : [`Also in the body: ${more.map(name => `\`${name}\``).join(', ')}.`, '']),
    ...(headers === undefined ? [] : [`Headers: ${headers.map(name => `\`${name}\``).join(', ')}.`, '']),
    ...(calls.length === 0 ? [] : [`Answered by: ${calls.map(nameOf).join(', ')}.`, '']),
  ]
}

function nameOf({ method, path }: Call): string {
  return `\`${method} ${path}\``
}
