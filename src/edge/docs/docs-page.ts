/**
 * The API's description for people: plain HTML made on the server, without scripts, pictures or anything from elsewhere; one style, which
 * the page's security policy names by its hash. Everything shown is escaped.
 */

import { createHash } from 'node:crypto'
import { PROBLEM_CODES, PROBLEMS } from '../../wire/problems.ts'
import { ALWAYS } from '../http/security-headers.ts'
import { type FieldRow, fieldRows, rowOf } from './field-table.ts'
import type { Json, OpenApi, Operation } from './openapi.ts'
import { clientSample, curlSample } from './samples.ts'

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: light-dark(#0b57d0, #8ab4f8) }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem }
h1 { font-size: 1.6rem } h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem } h3 { font-size: 1rem; margin: 0 }
a { color: var(--accent) }
code, pre { font: 0.875em/1.45 ui-monospace, monospace } code { overflow-wrap: anywhere }
pre { background: var(--soft); border-radius: 6px; overflow-x: auto; padding: 0.75rem }
details { border: 1px solid var(--line); border-radius: 8px; margin: 0.5rem 0; padding: 0.5rem 0.75rem }
summary { cursor: pointer } summary h3 { display: inline } summary span { opacity: 0.8 }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { border-top: 1px solid var(--line); padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top }
dt { font-weight: 600; margin-top: 1.25rem } dd { margin: 0.25rem 0 }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem }
:target { outline: 2px solid var(--accent); outline-offset: 4px }
`

export const PAGE_HEADERS = {
  ...ALWAYS,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
}

export function docsPage(document: OpenApi): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const groups = document.tags.map(({ name }) => {
    const inGroup = operations.filter(({ operation }) => operation.tags.some(tag => tag === name))
    if (inGroup.length === 0) return ''
    const shown = inGroup.map(({ method, path, operation }) => showOperation(method, path, operation))
    return `<h2 id="${escaped(name)}">${escaped(name)}</h2>${shown.join('\n')}`
  })
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${escaped(name)}"><summary><h3>${escaped(name)}</h3></summary>${showSchema(schema)}</details>`,
  )
  return page(
    'Stampede: the API',
    `<p>${escaped(document.info.description)}</p>
<nav>${document.tags.map(({ name }) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join('')}<a href="#shapes">Shapes</a><a href="/docs/errors">Errors</a><a href="/openapi.json">openapi.json</a></nav>
${groups.join('\n')}
<h2 id="shapes">Shapes</h2>
${schemas.join('\n')}`,
  )
}

export function errorsPage(): string {
  const entries = PROBLEM_CODES.map(code => {
    const { status, title, means, todo, more } = PROBLEMS[code]
    const members =
      more === undefined ? '' : `<dd>Also in the body: ${more.map(one => `<code>${one}</code>`).join(', ')}.</dd>`
    return `<dt id="${code}"><code>${code}</code> · ${status} · ${escaped(title)}</dt><dd>${escaped(means)}</dd><dd>What to do: ${escaped(todo)}</dd>${members}`
  })
  return page(
    'Stampede: problem codes',
    `<p>Every error is <code>application/problem+json</code> (RFC 9457). Programs go by <code>code</code>; the words may change.</p>
<nav><a href="/docs">The API</a></nav>
<dl>${entries.join('\n')}</dl>`,
  )
}

function showOperation(method: string, path: string, operation: Operation): string {
  const who =
    operation.security
      .flatMap(one => Object.entries(one))
      .map(nameOf)
      .join(' or ') || 'anyone'
  const parameters = operation.parameters.map(({ name, in: part, description, schema, required }) => {
    const row = rowOf(String(name), schema as Json, required === true)
    return { ...row, about: String(description ?? row.about), foundIn: String(part) }
  })
  const body = jsonOf(operation.requestBody?.content)
  const files = Object.keys((operation.requestBody?.content as Json | undefined) ?? {})
  const file = body === undefined && files.length > 0 ? `<p>Body: a file, ${escaped(files.join(', '))}.</p>` : ''
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const answer = jsonOf(response.content)
    const example = answer?.example === undefined ? '' : pretty(answer.example)
    const shape = answer === undefined ? '' : showSchema(answer.schema as Json)
    return `<tr><td><b>${escaped(status)}</b></td><td>${linked(String(response.description))}${shape}${example}</td></tr>`
  })
  const samples = [curlSample(method, path, operation), clientSample(method, path)]
    .filter(sample => sample !== undefined)
    .map(sample => `<pre><code>${escaped(sample)}</code></pre>`)
  return `<details id="${operation.operationId}"><summary><h3><code>${method} ${escaped(path)}</code></h3> <span>${escaped(operation.summary)}</span></summary>
<p>${operation.description === undefined ? '' : `${escaped(operation.description)} `}Asked by: ${escaped(who)}.</p>
${parameters.length === 0 ? '' : `<p>Parameters:</p>${table(parameters)}`}
${file}${body === undefined ? '' : `<p>Body:</p>${showSchema(body.schema as Json)}${pretty(body.example)}`}
${samples.join('')}
<p>Answers:</p><table>${responses.join('')}</table></details>`
}

function jsonOf(content: unknown): Json | undefined {
  return (content as Json | undefined)?.['application/json'] as Json | undefined
}

/** One that is described elsewhere is a link. */
function showSchema(schema: Json): string {
  const rows = fieldRows(schema)
  const [only] = rows
  if (rows.length === 1 && only?.name === '' && only.shape !== undefined) return `<p>${shapeLink(only)}</p>`
  return table(rows)
}

function table(rows: readonly (FieldRow & { readonly foundIn?: string })[]): string {
  const lines = rows.map(row => {
    const name = row.name === '' ? '(the whole)' : row.name
    const needed =
      row.byDefault === undefined ? (row.required ? 'required' : '') : `default ${JSON.stringify(row.byDefault)}`
    const cells = [
      `<code>${escaped(name)}</code>`,
      shapeLink(row),
      escaped(needed),
      escaped(row.bounds),
      marked(row.about),
    ]
    return `<tr>${cells.map(cell => `<td>${cell}</td>`).join('')}${row.foundIn === undefined ? '' : `<td>${escaped(row.foundIn)}</td>`}</tr>`
  })
  const where = rows.some(row => row.foundIn !== undefined) ? '<th>in</th>' : ''
  return `<table><tr><th>field</th><th>type</th><th></th><th>bounds</th><th>meaning</th>${where}</tr>${lines.join('')}</table>`
}

function shapeLink({ type, shape }: FieldRow): string {
  return shape === undefined ? escaped(type) : `<a href="#schema-${escaped(shape)}">${escaped(type)}</a>`
}

function marked(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function nameOf([scheme, roles]: [string, unknown]): string {
  const [role] = roles as readonly string[]
  return role === undefined ? scheme : `${scheme} (role ${role} or above)`
}

/** Codes in backticks lead to their explanation. */
function linked(text: string): string {
  return escaped(text).replace(/`([a-z_]+)`/g, '<a href="/docs/errors#$1"><code>$1</code></a>')
}

function pretty(value: unknown): string {
  return `<pre><code>${escaped(JSON.stringify(value, undefined, 2))}</code></pre>`
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1>
${content}
</main></body></html>
`
}

function escaped(text: unknown): string {
  return String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
