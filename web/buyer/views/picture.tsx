/** An item's picture: the shop's own, or else one drawn from the item's id, the same on every device. */

import { useState } from 'preact/hooks'
import type { Item } from '../shapes.ts'
import { nameOf } from '../words.ts'

const SIZE = 400

export function Picture({ item }: { readonly item: Item }) {
  const [broken, setBroken] = useState<string>()
  const source = item.image
  // The page's Content-Security-Policy allows pictures from this site and over HTTPS only.
  const usable = source !== undefined && source !== broken && /^(https:\/\/|\/(?!\/))/i.test(source)
  return (
    <div class="picture">
      {usable ? (
        <img src={source} alt="" decoding="async" referrerpolicy="no-referrer" onError={() => setBroken(source)} />
      ) : (
        <Drawing seed={item.id} letter={firstLetter(nameOf(item))} />
      )}
    </div>
  )
}

/** Hills under a sun, and the first letter of the name where no frame cuts it off. */
function Drawing({ seed, letter }: { readonly seed: string; readonly letter: string }) {
  const chance = sequence(seed)
  const hue = 6 + Math.floor(chance() * 4) * 6
  const sun = { x: 90 + chance() * 220, y: 90 + chance() * 60, r: 48 + chance() * 26 }
  const hills = [0, 1, 2].map(i => {
    const base = 210 + i * 55
    const [a, b] = [base - 30 - chance() * 50, base + 10 + chance() * 50]
    return `M0 ${base} C ${110 + chance() * 40} ${a}, ${220 + chance() * 60} ${b}, ${SIZE} ${base - 20 + chance() * 40} V${SIZE} H0Z`
  })
  const id = `sky-${seed}`
  return (
    <svg viewBox={`0 0 ${SIZE} ${SIZE}`} aria-hidden="true" focusable="false" preserveAspectRatio="xMidYMid slice">
      <defs>
        <linearGradient id={id} x1="0" y1="0" x2="0.4" y2="1">
          <stop offset="0" stop-color={`hsl(${hue + 24} 78% 90%)`} />
          <stop offset="1" stop-color={`hsl(${hue + 10} 72% 76%)`} />
        </linearGradient>
      </defs>
      <rect width={SIZE} height={SIZE} fill={`url(#${id})`} />
      <circle cx={sun.x} cy={sun.y} r={sun.r} fill={`hsl(${hue + 30} 95% 96%)`} />
      {hills.map((path, i) => (
        <path d={path} key={path} fill={`hsl(${hue} ${58 - i * 4}% ${66 - i * 15}%)`} />
      ))}
      <text x="40" y="308" font-size="112" font-weight="700" fill="#fff" fill-opacity="0.94">
        {letter}
      </text>
    </svg>
  )
}

/** The first grapheme, also of a name that begins with a flag or an accent. */
function firstLetter(name: string): string {
  for (const { segment } of new Intl.Segmenter().segment(name.trim().slice(0, 64))) return segment.toLocaleUpperCase()
  return ''
}

/** Numbers in [0, 1), the same for the same seed. */
function sequence(seed: string): () => number {
  let state = 2_166_136_261
  for (let i = 0; i < seed.length; i++) state = Math.imul(state ^ seed.charCodeAt(i), 16_777_619)
  return () => {
    state = Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9
    return ((state ^ (state >>> 13)) >>> 0) / 4_294_967_296
  }
}
