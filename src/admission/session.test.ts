import { expect, test } from 'bun:test'
import { Bug } from '../base/assert.ts'
import { readSessionCookie, sessionCookies } from './session.ts'

test('the session cookie is out of reach of scripts and of other sites, and Secure where it can be', () => {
  expect(sessionCookies('a.b.c', { secure: false, maxAgeS: 60 })).toEqual([
    'stampede_session=a.b.c; Path=/; Max-Age=60; HttpOnly; SameSite=Lax',
  ])
  expect(sessionCookies('a.b.c', { secure: true, maxAgeS: 0 })).toEqual([
    '__Host-stampede_session=a.b.c; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
    'stampede_session=a.b.c; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
  ])
})

test('nothing but a token gets into the header', () => {
  for (const token of ['', 'a;b', 'a b', 'a\r\nSet-Cookie: x=y', 'é']) {
    expect(() => sessionCookies(token, { secure: true, maxAgeS: 60 })).toThrow(Bug)
  }
  expect(() => sessionCookies('a.b.c', { secure: true, maxAgeS: 1.5 })).toThrow(Bug)
})

test('the token is found among other cookies, and only under its own name', () => {
  expect(readSessionCookie('stampede_session=a.b.c')).toBe('a.b.c')
  expect(readSessionCookie('theme=dark; stampede_session=a.b.c;lang=zh')).toBe('a.b.c')
  expect(readSessionCookie('lang=zh;stampede_session=a.b.c')).toBe('a.b.c')
  expect(readSessionCookie('stampede_session=first; stampede_session=second')).toBe('first')
  expect(readSessionCookie('stampede_session=neighbour; __Host-stampede_session=ours')).toBe('ours')
  for (const header of [
    '',
    ';',
    '=',
    'stampede_session',
    'stampede_session=',
    'xstampede_session=a',
    'stampede_session2=a',
    'x=stampede_session=a',
  ]) {
    expect(readSessionCookie(header)).toBeUndefined()
  }
})
