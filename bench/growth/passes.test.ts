import { expect, test } from 'bun:test'
import { figuresOf, type Measured, upTo } from './passes.ts'

const ms = (value: number, more: Partial<Measured> = {}): Measured => ({ group: 'list', value, unit: 'ms', ...more })

test('a ratio is taken within a pass; value and ratio are medians over the passes', () => {
  // The machine was three times as slow in the second pass: the ratios do not show it.
  const passes = [
    [[ms(10)], [ms(20)]],
    [[ms(30)], [ms(60)]],
    [[ms(11)], [ms(55)]],
  ]
  expect(figuresOf(['none', 'many'], passes)).toEqual([
    { group: 'list', at: 'none', value: 11, unit: 'ms', ratio: 1 },
    { group: 'list', at: 'many', value: 55, unit: 'ms', ratio: 2 },
  ])
})

test('an aim stands at what is compared, and a figure may be compared with another size than the first', () => {
  const figure = (value: number) => [ms(value, { aim: { most: 1.3 }, beside: 1 })]
  const figures = figuresOf(['1', '100', '10,000'], [[figure(1), figure(50), figure(100)]])
  expect(figures.map(({ ratio, aim }) => ({ ratio, aim }))).toEqual([
    { ratio: undefined, aim: undefined },
    { ratio: 1, aim: undefined },
    { ratio: 2, aim: { most: 1.3 } },
  ])
})

test('a figure that one size does not have, or that was zero, has no ratio', () => {
  const passes = [[[ms(0, { group: 'busy' })], [ms(7, { group: 'busy' }), ms(3)]]]
  expect(figuresOf(['still', 'disturbed'], passes)).toEqual([
    { group: 'busy', at: 'still', value: 0, unit: 'ms' },
    { group: 'busy', at: 'disturbed', value: 7, unit: 'ms' },
    { group: 'list', at: 'disturbed', value: 3, unit: 'ms' },
  ])
})

test('another largest size replaces the usual one, and larger ones are left out', () => {
  const sizes = [1, 100, 10_000]
  expect([undefined, 2_000, 50].map(most => upTo(sizes, most))).toEqual([sizes, [1, 100, 2_000], [1, 50]])
})
