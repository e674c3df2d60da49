import { expect, test } from 'bun:test'
import { kindOfBytes, kindOfName } from './image.ts'

const bytes = (text: string) => Uint8Array.from(text, one => one.charCodeAt(0))

test('an image is what its first bytes say, and a drawing that can hold scripts is none', () => {
  const kinds = [
    '\x89PNG\r\n\x1a\n…',
    '\xff\xd8\xff\xe0',
    'RIFF\x10\0\0\0WEBPVP8 ',
    'GIF87a',
    'GIF89a',
    '\0\0\0\x1cftypavif',
    '\0\0\0\x1cftypavis',
  ].map(text => kindOfBytes(bytes(text)))
  expect(kinds).toEqual(['png', 'jpg', 'webp', 'gif', 'gif', 'avif', 'avif'])
  const others = [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg">',
    '<!doctype html>',
    'RIFF\x10\0\0\0WAVE',
    'GIF',
    '\0\0\0\x1cftypmp42',
    'PNG',
  ]
  expect(others.filter(text => kindOfBytes(bytes(text)) !== undefined)).toEqual([])
})

test('only a hash with an ending of these kinds is a name', () => {
  const hash = 'a'.repeat(64)
  expect(kindOfName(`${hash}.jpg`)).toBe('jpg')
  const others = [
    '',
    hash,
    `${hash}.svg`,
    `${hash}.png.png`,
    `../${hash}.png`,
    `${hash.toUpperCase()}.png`,
    `${hash}.png\n`,
  ]
  expect(others.filter(name => kindOfName(name) !== undefined)).toEqual([])
})
