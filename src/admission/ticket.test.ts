import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { Bug } from '../base/assert.ts'
import { type Random, seededRandom, systemRandom } from '../base/random.ts'
import { BUYER_LENGTH_MAX, isBuyerId } from '../domain/ids.ts'
import { createTicketOffice, parseTicketKeys, type TicketClaims } from './ticket.ts'

const OLD_SECRET = 'old secret of more than 16 bytes'
const NEW_SECRET = 'new secret of more than 16 bytes'
const old = createTicketOffice(parseTicketKeys(`2025:${OLD_SECRET}`))
const office = createTicketOffice(parseTicketKeys(`2026:${NEW_SECRET},2025:${OLD_SECRET}`))

const CLAIMS: TicketClaims = {
  sale: '312345678901234567',
  item: '312345678901234568',
  buyer: 'buyer-1',
  attempt: 1,
  notBeforeMs: 1_794_355_200_000,
  expiresAtMs: 1_794_358_800_000,
}

/** Signs whatever fields it is given, as only a holder of the key can. */
function forge(fields: readonly string[], secret = NEW_SECRET): string {
  const signed = fields.map(field => `${field.length}:${field},`).join('')
  return [...fields, createHmac('sha256', secret).update(signed).digest('base64url')].join('.')
}

const fieldsOf = (ticket: string) => ticket.split('.').slice(0, -1)

describe('a ticket', () => {
  test('that is bound is one only beside what it was bound to, and looks like any other', () => {
    const bound = office.issue(CLAIMS, 'aW4gYSBjb29raWU')
    expect(bound).toHaveLength(office.issue(CLAIMS).length)
    expect(office.verify(bound, 0, undefined, 'aW4gYSBjb29raWU')).toEqual(CLAIMS)
    for (const other of [undefined, '', '-', 'aW4gYSBjb29raWV', 'aW4gYSBjb29raW', 'é'])
      expect(office.verify(bound, 0, undefined, other)).toBeUndefined()
    expect(office.verify(office.issue(CLAIMS), 0, undefined, 'aW4gYSBjb29raWU')).toBeUndefined()
    expect(() => office.issue(CLAIMS, 'x'.repeat(65))).toThrow(Bug)
    // The longest ticket with the longest binding.
    const longest = { ...CLAIMS, buyer: '买'.repeat(BUYER_LENGTH_MAX / 4) }
    expect(office.verify(office.issue(longest, 'x'.repeat(64)), 0, undefined, 'x'.repeat(64))).toEqual(longest)
  })

  test('verifies to exactly the claims it was issued for, for any buyer', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    const id = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String)
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
    const buyer = fc
      .oneof(
        fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 64 }),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
        fc.emailAddress(),
        fc.constantFrom('~', '~YQ', '.', 't1.1.2', 'a.b', '"quoted"', 'ü', '买家一号', '👩‍👩‍👧', '\ufeffx'),
      )
      .filter(isBuyerId)
    const someMarks = fc.option(fc.stringMatching(/^[A-Za-z0-9_-]{1,160}$/), { nil: undefined })
    const property = fc.property(
      id,
      id,
      buyer,
      count,
      count,
      count,
      someMarks,
      (sale, item, who, attempt, notBeforeMs, expiresAtMs, marks) => {
        const claims = { sale, item, buyer: who, attempt, notBeforeMs, expiresAtMs, marks }
        const ticket = office.issue(claims)
        expect(office.verify(ticket)).toEqual(claims)
        expect(office.peekBuyer(ticket)).toBe(who)
        expect(office.peekBuyer(`Bearer ${ticket}`, 7)).toBe(who)
        expect(ticket).toMatch(/^[A-Za-z0-9._~-]{1,1024}$/)
      },
    )
    fc.assert(property, { seed, numRuns: 3000 })
  })

  test('stays within 512 bytes for any ASCII buyer and within 1 KiB for any other', () => {
    const most = {
      ...CLAIMS,
      sale: '9223372036854775807',
      item: '9223372036854775807',
      attempt: Number.MAX_SAFE_INTEGER,
    }
    expect(office.issue({ ...most, buyer: '@'.repeat(BUYER_LENGTH_MAX) }).length).toBeLessThanOrEqual(512)
    expect(office.issue({ ...most, buyer: '买'.repeat(BUYER_LENGTH_MAX) }).length).toBeLessThanOrEqual(1024)
  })

  test('keeps its marks: none can be taken away, added or changed', () => {
    const marked = office.issue({ ...CLAIMS, marks: 'phone-0123' })
    expect(office.verify(marked)?.marks).toBe('phone-0123')
    expect(office.verify(marked.replace('~phone-0123', ''))).toBeUndefined()
    expect(office.verify(marked.replace('0123', '0124'))).toBeUndefined()
    const [plain, fields] = [office.issue(CLAIMS), fieldsOf(marked)]
    expect(office.verify(plain.replace('.2026.', '~phone-0123.2026.'))).toBeUndefined()
    for (const expires of ['1~', '1~a~b', '~a', `1~${'a'.repeat(161)}`])
      expect(office.verify(forge(fields.with(6, expires)))).toBeUndefined()
  })

  test('is signed with the newest key and verified with every one that is still known', () => {
    expect(fieldsOf(office.issue(CLAIMS)).at(-1)).toBe('2026')
    expect(office.verify(old.issue(CLAIMS))).toEqual(CLAIMS)
    expect(old.verify(office.issue(CLAIMS))).toBeUndefined()
  })

  test('under a known key id but another secret is refused', () => {
    const other = createTicketOffice(parseTicketKeys('2026:some other secret of 16 bytes'))
    expect(office.verify(other.issue(CLAIMS))).toBeUndefined()
  })

  test('is refused when its key id is swapped for another known one', () => {
    const fields = office.issue(CLAIMS).split('.')
    fields[7] = '2025'
    expect(office.verify(fields.join('.'))).toBeUndefined()
  })

  test('is never issued for claims that make no sense: that is a bug', () => {
    const wrong: Partial<TicketClaims>[] = [
      { sale: '' },
      { item: '1.2' },
      { item: '01' },
      { buyer: '' },
      { buyer: 'a\nb' },
      { buyer: 'x'.repeat(BUYER_LENGTH_MAX + 1) },
      { attempt: -1 },
      { attempt: 1.5 },
      { expiresAtMs: Number.NaN },
    ]
    for (const part of wrong) expect(() => office.issue({ ...CLAIMS, ...part })).toThrow(Bug)
  })
})

describe('verify', () => {
  test('agrees with a signature made by the plain road', () => {
    const ticket = office.issue(CLAIMS)
    expect(forge(fieldsOf(ticket))).toBe(ticket)
  })

  test('agrees with it for secrets of every length around a block of the hash, and for the longest fields', () => {
    for (const length of [16, 63, 64, 65, 200]) {
      const secret = 's'.repeat(length)
      const keyed = createTicketOffice(parseTicketKeys(`2026:${secret}`))
      for (const buyer of ['b', 'b'.repeat(9), 'b'.repeat(10), 'b'.repeat(100), '买'.repeat(BUYER_LENGTH_MAX)]) {
        const ticket = keyed.issue({ ...CLAIMS, buyer })
        expect(ticket).toBe(forge(fieldsOf(ticket), secret))
        expect(keyed.verify(ticket)?.buyer).toBe(buyer)
      }
    }
  })

  test('refuses a wide character in place of the plain one in its low byte, in any field', () => {
    const ticket = office.issue(CLAIMS)
    for (let at = 0; at < ticket.length; at++) {
      const wide = String.fromCharCode(ticket.charCodeAt(at) + 0x100)
      expect(office.verify(ticket.slice(0, at) + wide + ticket.slice(at + 1))).toBeUndefined()
    }
  })

  test('refuses another version, a field too few or too many, and claims no ticket may carry, even when well signed', () => {
    const fields = fieldsOf(office.issue(CLAIMS))
    const withField = (index: number, value: string) => forge(fields.with(index, value))
    expect(office.verify(withField(0, 't2'))).toBeUndefined()
    expect(office.verify(forge([...fields, 'x']))).toBeUndefined()
    expect(office.verify(forge([...fields.slice(0, 6), '2026']))).toBeUndefined()
    expect(office.verify(withField(1, '1e3'))).toBeUndefined()
    expect(office.verify(withField(2, '~AA'))).toBeUndefined()
    expect(office.verify(withField(4, '1.5'))).toBeUndefined()
    expect(office.verify(withField(6, 'soon'))).toBeUndefined()
    expect(office.verify(withField(4, '2'))).toEqual({ ...CLAIMS, attempt: 2 })
  })

  test('refuses a good ticket with anything before or after it', () => {
    const ticket = office.issue(CLAIMS)
    for (const more of ['.', '.x', 'x', '.2026', `.${ticket}`, ticket, '=', ' ', '\n', '\u0000']) {
      expect(office.verify(ticket + more)).toBeUndefined()
      expect(office.verify(more + ticket)).toBeUndefined()
    }
    for (let length = 0; length < ticket.length; length++)
      expect(office.verify(ticket.slice(0, length))).toBeUndefined()
  })

  test('refuses every other spelling of the same signature', () => {
    const ticket = office.issue(CLAIMS)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 256 bits in 43 characters leave two bits over: three other last characters decode to the same bytes.
    const last = alphabet.indexOf(ticket.at(-1)!)
    const bytes = (text: string) => Buffer.from(text.split('.').at(-1)!, 'base64url')
    for (let low = 0; low < 4; low++) {
      const other = ticket.slice(0, -1) + alphabet[(last & ~3) | low]
      expect(bytes(other)).toEqual(bytes(ticket))
      if (other !== ticket) expect(office.verify(other)).toBeUndefined()
    }
    expect(office.verify(ticket.toUpperCase())).toBeUndefined()
    // A wide character whose low byte is the right one, at every place.
    for (let at = 0; at < ticket.length; at++) {
      const wide = String.fromCharCode(ticket.charCodeAt(at) | 0x100)
      expect(office.verify(ticket.slice(0, at) + wide + ticket.slice(at + 1))).toBeUndefined()
    }
    expect(office.verify(ticket)).toEqual(CLAIMS)
  })

  test('refuses another spelling of the same buyer', () => {
    const fields = office.issue(CLAIMS).split('.')
    fields[2] = `~${Buffer.from(CLAIMS.buyer).toString('base64url')}`
    expect(office.peekBuyer(fields.join('.'))).toBe(CLAIMS.buyer)
    expect(office.verify(fields.join('.'))).toBeUndefined()
  })

  test('refuses every mix of two good tickets', () => {
    const one = office.issue(CLAIMS).split('.')
    const two = office
      .issue({
        sale: '11',
        item: '12',
        buyer: 'buyer-2',
        attempt: 2,
        notBeforeMs: CLAIMS.notBeforeMs + 1,
        expiresAtMs: CLAIMS.expiresAtMs + 1,
      })
      .split('.')
    for (let mask = 0; mask < 2 ** 9; mask++) {
      const mix = one.map((field, index) => (mask & (1 << index) ? two[index]! : field)).join('.')
      if (mix !== one.join('.') && mix !== two.join('.')) expect(office.verify(mix)).toBeUndefined()
    }
  })

  test('refuses what slides from one field into the next', () => {
    const fields = fieldsOf(office.issue({ ...CLAIMS, attempt: 12, notBeforeMs: 345 }))
    const mac = forge(fields).split('.').at(-1)!
    const slid = [...fields.slice(0, 4), '1', '2345', ...fields.slice(6), mac].join('.')
    expect(office.verify(slid)).toBeUndefined()
  })

  test('accepts none of 20,000 mutations of good tickets', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const tickets = ['buyer-1', 'bob@example.com', '买家一号', 'x'.repeat(128)].flatMap((buyer, index) =>
      [office, old].map(by => by.issue({ ...CLAIMS, buyer, attempt: index, item: String(1000 + index) })),
    )
    let tried = 0
    while (tried < 20_000) {
      const mutant = mutate(random, pick(random, tickets), pick(random, tickets))
      if (tickets.includes(mutant)) continue
      tried += 1
      if (office.verify(mutant) !== undefined) throw new Error(`accepted: ${mutant}`)
      office.peekBuyer(mutant)
    }
    for (const ticket of tickets) expect(office.verify(ticket)).toBeDefined()
  })
})

describe('peekBuyer', () => {
  test('reads what is written, signed or not, and refuses what is no ticket', () => {
    expect(office.peekBuyer('t1.12.bob.rest')).toBe('bob')
    for (const text of [
      '',
      't1',
      't1.',
      't1.12',
      't1.12.bob',
      't2.12.bob.rest',
      'eyJhbGciOiJIUzI1NiJ9.e30.x',
      `t1.12.${'b'.repeat(2000)}.rest`,
    ]) {
      expect(office.peekBuyer(text)).toBeUndefined()
    }
  })

  test('never throws, whatever it is given', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }).map(rest => `t1.1.~${rest}.x`),
    )
    const property = fc.property(text, given => {
      office.peekBuyer(given)
      expect(office.verify(given)).toBeUndefined()
    })
    fc.assert(property, { seed, numRuns: 2000 })
  })
})

describe('ticket keys', () => {
  test('are read newest first, and may hold colons and spaces around them', () => {
    const keys = parseTicketKeys(' b:a secret: of 16 bytes , a:another secret of 16')
    expect(keys.map(key => key.id)).toEqual(['b', 'a'])
    expect(keys[0]!.secret.export().toString()).toBe('a secret: of 16 bytes')
  })

  test('count their length in bytes', () => {
    expect(parseTicketKeys('a:密密密密密x').length).toBe(1)
    expect(() => parseTicketKeys('a:密密密密密')).toThrow('shorter than 16 bytes')
  })

  test('that are wrong are refused with their place, and never shown', () => {
    const good = 'k1:0123456789abcdef'
    const wrong: [string, string][] = [
      ['', 'ticket key 1 is not id:secret'],
      ['hunter2hunter2hunter2', 'ticket key 1 is not id:secret'],
      [`${good},`, 'ticket key 2 is not id:secret'],
      [`${good},k2:hunter2`, 'ticket key 2: the secret is shorter than 16 bytes'],
      [`${good},:hunter2hunter2hunter2`, 'ticket key 2: the id must be'],
      [`${good},hunter2.hunter2:hunter2hunter2hunter2`, 'ticket key 2: the id must be'],
      [`${good},${'hunter2'.repeat(3)}:hunter2hunter2hunter2`, 'ticket key 2: the id must be'],
      [`${good},k1:hunter2hunter2hunter2`, 'ticket key 2 has the same id as ticket key 1'],
    ]
    for (const [text, message] of wrong) {
      expect(() => parseTicketKeys(text)).toThrow(message)
      expect(() => parseTicketKeys(text)).not.toThrow(/hunter2/)
    }
    const printed =
      inspect(parseTicketKeys('k2:hunter2hunter2hunter2'), { depth: 9 }) +
      JSON.stringify(parseTicketKeys('k2:hunter2hunter2hunter2'))
    expect(printed).not.toContain('hunter2')
  })

  test('are needed', () => {
    expect(() => createTicketOffice([])).toThrow(Bug)
  })
})

const pick = <T>(random: Random, from: ArrayLike<T>): T => from[Math.floor(random.next() * from.length)]!

function mutate(random: Random, ticket: string, other: string): string {
  const at = Math.floor(random.next() * ticket.length)
  const to = Math.floor(random.next() * ticket.length)
  const fields = ticket.split('.')
  const field = Math.floor(random.next() * fields.length)
  const character = pick(random, 'ABCXYZabcxyz0189-_.~=+/%,: \u0000\u00e9')
  switch (Math.floor(random.next() * 10)) {
    case 0: // a bit
      return (
        ticket.slice(0, at) +
        String.fromCharCode(ticket.charCodeAt(at) ^ (1 << Math.floor(random.next() * 9))) +
        ticket.slice(at + 1)
      )
    case 1: // a character
      return ticket.slice(0, at) + character + ticket.slice(at + 1)
    case 2: // one more, within or behind
      return random.next() < 0.5 ? ticket.slice(0, at) + character + ticket.slice(at) : ticket + character
    case 3: // cut off at the end or in front
      return random.next() < 0.5 ? ticket.slice(0, at) : ticket.slice(at)
    case 4: // a piece cut out
      return ticket.slice(0, Math.min(at, to)) + ticket.slice(Math.max(at, to))
    case 5: // two characters change places
      return [...ticket].with(at, ticket[to]!).with(to, ticket[at]!).join('')
    case 6: // one ticket's beginning, the other's end
      return ticket.slice(0, at) + other.slice(Math.floor(random.next() * other.length))
    case 7: // one ticket's field in the other
      return fields.with(field, other.split('.')[field]!).join('.')
    case 8: // the case of one character, or of all
      return random.next() < 0.5
        ? ticket.toLowerCase()
        : ticket.slice(0, at) + ticket[at]!.toUpperCase() + ticket.slice(at + 1)
    default: {
      // written again in another way
      const again = [
        (text: string) => Buffer.from(text, 'base64url').toString('base64'),
        (text: string) => Buffer.from(text, 'base64url').toString('base64url'),
        (text: string) => Buffer.from(text).toString('base64url'),
        (text: string) => `~${Buffer.from(text).toString('base64url')}`,
        (text: string) => `0${text}`,
        (text: string) => encodeURIComponent(text),
        (text: string) => text.split('').reverse().join(''),
      ]
      return fields.with(field, pick(random, again)(fields[field]!)).join('.')
    }
  }
}
