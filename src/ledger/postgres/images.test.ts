import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createImages } from './images.ts'

const ledger = ledgerForFile()
const nameOf = (letter: string) => `${letter.repeat(64)}.png`
const bytes = Buffer.from('12345')

test('an image is kept once, comes back byte by byte, and there is a bound on how many and how large they are together', async () => {
  const images = createImages(ledger.database)
  expect(await images.find(nameOf('a'))).toBeUndefined()
  expect(await Promise.all([1, 2, 3].map(() => images.add(nameOf('a'), bytes, 'olga')))).toEqual([true, true, true])
  expect(await images.find(nameOf('a'))).toEqual(new Uint8Array(bytes))
  const add = async (letter: string, imagesMax: number, bytesMax: number) =>
    (await ledger.database.run('add_image', [nameOf(letter), bytes, 'olga', imagesMax, bytesMax]))[0]?.kept
  expect(await add('b', 1, 100), 'one too many').toBe(false)
  expect(await add('b', 2, 9), 'one byte too many').toBe(false)
  expect(await images.find(nameOf('b'))).toBeUndefined()
  expect(await add('b', 2, 10)).toBe(true)
  expect(await add('a', 1, 1), 'it is there').toBe(true)
})
