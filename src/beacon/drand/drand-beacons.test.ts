import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { RECORDED_ROUNDS } from '../../domain/draw/drand.fixture.ts'
import { QUICKNET } from '../../domain/draw/drand-rounds.ts'
import { createDrandBeacons } from './drand-beacons.ts'

const [{ round, signature, randomness }, other] = RECORDED_ROUNDS
const asked: string[] = []
let server: ReturnType<typeof Bun.serve>

/** What a relay of drand answers, and what a broken or dishonest one would. */
const KINDS: Record<string, () => Response | Promise<Response>> = {
  right: () => Response.json({ round, randomness, signature }),
  forged: () => Response.json({ round, randomness, signature: other.signature }),
  another: () => Response.json({ ...other }),
  early: () => new Response('too early', { status: 404 }),
  redirect: () => Response.redirect(`${server.url}right`),
  large: () => new Response('x'.repeat(10_000)),
  broken: () => new Response('{"round":'),
  nothing: () => Response.json(null),
  silent: () => new Promise(() => {}),
}

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    fetch({ url }) {
      const [, kind, ...rest] = new URL(url).pathname.split('/')
      asked.push(`${kind}/${rest.join('/')}`)
      return KINDS[kind!]!()
    },
  })
})
afterAll(() => server.stop(true))

const beacons = (...kinds: string[]) =>
  createDrandBeacons({ clock: systemClock, hosts: kinds.map(kind => `${server.url.origin}/${kind}`) })

describe('rounds of drand', () => {
  test('are asked for by the pinned chain, and checked', async () => {
    expect(await beacons('right').fetch(round)).toEqual({ value: randomness, signature })
    expect(asked.at(-1)).toBe(`right/${QUICKNET.chain}/public/${round}`)
  }, 60_000)

  test('come from the first host that can be believed, and that one is asked first the next time', async () => {
    const several = beacons(
      'forged',
      'another',
      'early',
      'redirect',
      'large',
      'broken',
      'nothing',
      'silent',
      'right',
      'early',
    )
    expect(await several.fetch(round)).toEqual({ value: randomness, signature })
    asked.length = 0
    await several.fetch(round)
    expect(asked.map(one => one.split('/')[0])).toEqual(['right'])
  }, 60_000)

  test('that no host has are a fault that names each host, and may be tried again', async () => {
    const fetching = beacons('early', 'forged').fetch(round)
    await expect(fetching).rejects.toMatchObject({ code: 'beacon_missing', retryable: true })
    await expect(fetching).rejects.toThrow(/answered 404.*signature is wrong/)
  }, 60_000)
})
