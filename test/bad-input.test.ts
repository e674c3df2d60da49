import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { rawRequests } from './bad-input/raw-requests.ts'
import { type Scene, setScene } from './bad-input/scene.ts'
import { type WrongRequest, wrongRequests } from './bad-input/wrong-requests.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { within } from './harness/until.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let scene: Scene
beforeAll(async () => {
  scene = await setScene(playground)
})
afterAll(() => playground.undo())

/** What is wrong with the answer, or undefined. */
async function judge({ method, path, headers, body, expected, field }: WrongRequest): Promise<string | undefined> {
  const response = await fetch(scene.url + path, {
    method,
    redirect: 'manual',
    ...(headers && { headers }),
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  if (method === 'HEAD') return expected.startsWith(String(response.status)) ? undefined : `${response.status}`
  try {
    assertDescribed(method, new URL(response.url).pathname, response.status, response.headers, text)
  } catch (error) {
    return String(error)
  }
  const problem = text.startsWith('{') ? JSON.parse(text) : {}
  if (!expected.split('|').includes(`${response.status} ${problem.code}`)) return `${response.status} ${text}`
  return field !== undefined && response.status !== 413 && problem.field !== field
    ? `names "${problem.field}": ${text}`
    : undefined
}

describe('a wrong request', () => {
  test('gets the right refusal as problem+json, and changes nothing', async () => {
    const requests = wrongRequests(scene)
    const before = await scene.state()
    const wrong: string[] = []
    for (const request of requests) {
      const fault = await judge(request)
      if (fault !== undefined) wrong.push(`${request.what}: expected ${request.expected}, got ${fault.slice(0, 400)}`)
    }
    expect(wrong).toEqual([])
    expect(await scene.state()).toBe(before)
    expect(scene.server.output()).not.toContain('unexpected error')
    console.log(`${requests.length} wrong requests refused`)
    expect(requests.length).toBeGreaterThan(300)
  })

  test('that no HTTP library would send is refused too, and the next one is served', async () => {
    const before = await scene.state()
    const wrong: string[] = []
    const requests = rawRequests(scene)
    for (const { what, bytes, expected } of requests) {
      const answer = await raw(scene.url, bytes)
      if (!expected.test(answer)) wrong.push(`${what}: ${answer.slice(0, 300)}`)
    }
    expect(wrong).toEqual([])
    expect(await scene.state()).toBe(before)
    expect(scene.server.output()).not.toContain('unexpected error')
    expect(requests.length).toBeGreaterThan(25)
  })

  test('leaves a good ticket good', async () => {
    const { open, ticket, url } = scene
    const response = await fetch(`${url}/api/sales/${open.id}/items/${open.item}/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ticket}` },
    })
    expect(response.status).toBe(201)
  })
})

/** Sends bytes as they are; everything that comes back until the server hangs up. */
function raw(url: string, bytes: Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url)
  const heard = new Promise<string>((done, fail) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
    })
    socket.on('error', error => (text === '' ? fail(error) : done(text)))
    socket.on('close', () => done(text))
    socket.write(bytes)
  })
  return within('the end of an answer', 120_000, heard)
}
