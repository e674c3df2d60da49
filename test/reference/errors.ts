/** `docs/reference/errors.md`, made from the catalogue of problems. */

import { type Call, problemsOf } from '../../src/wire/call.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import { PROBLEM_CODES, PROBLEMS, type ProblemCode } from '../../src/wire/problems.ts'

/** Every call can answer with these. */
const EVERYWHERE: readonly ProblemCode[] = ['internal', 'busy', 'body_too_large', 'method_not_allowed', 'not_found']

export function renderErrorsReference(): string {
  return [
    '# Problem codes',
    '',
    'Made from `src/wire/problems.ts` by `npm run reference`; a test compares the two.',
    '',
    'Every error is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail` and `code`. Programs go by `code`; the words may',
    'change. A running server shows the same at `/docs/errors`, and `type` leads there.',
    '',
    ...PROBLEM_CODES.flatMap(section),
  ].join('\n')
}

function section(code: ProblemCode): readonly string[] {
  const { status, title, means, todo, more, headers } = PROBLEMS[code]
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
